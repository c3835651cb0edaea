#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cloche::rules {

// The sandbox's change at a path. A rename is the deletion of one name and the addition of another:
// reality has its own state at both, so each half is its own case, and nothing is applied unless
// both can be.
enum class Incoming : uint8_t {
  kAdd,         // a file or symlink where the sandbox saw nothing
  kEdit,        // new content of a file, and perhaps new metadata
  kMetadata,    // mode, owner or attributes only; not a directory
  kDelete,      // not a directory
  kRetarget,    // a symlink points elsewhere
  kTypeChange,  // a file became a symlink, or the like; no directory on either side
  kFileToDirectory,
  kDirectoryToFile,    // everything below it is deleted
  kAddDirectory,       // where the sandbox saw nothing
  kDirectoryMetadata,  // mode, owner or attributes
  kDeleteDirectory,    // everything below it is deleted, too
  kLink,               // one of several names of a file, added or changed
  kSpecial,            // a pipe, socket or device, or something that becomes one
};
inline constexpr size_t kIncomings = 13;

// Reality's state at a path, compared with what the sandbox saw when it was made. The first value
// that holds, in this order: states that would invalidate all later ones come first. Earlier steps
// of the same change set (parents first) count as done.
enum class Real : uint8_t {
  kUnknown,           // it could not be examined
  kParentSymlink,     // a directory on the way to it is a symlink
  kParentFile,        // something on the way to it is not a directory
  kParentMissing,     // a directory on the way to it is gone, and the change does not create it
  kMountPoint,        // it is a mount point, or behind one
  kCaseCollision,     // the directory ignores case, and has the name in other case
  kUnicodeCollision,  // the same with another normalization form
  kSame,              // already what the change would make it
  kImmutable,         // it, or its directory, is immutable or append-only
  kUnwritable,        // the caller may not change it there
  kHidden,            // hidden from the sandbox
  kAppeared,          // not a directory; the sandbox saw nothing there
  kAbsent,            // gone; the sandbox saw something there
  kDirectoryHere,     // a directory; the sandbox saw none
  kFileHere,          // not a directory; the sandbox saw one
  kOtherType,         // neither this nor what the sandbox saw is a directory
  kRetargeted,        // a symlink that points elsewhere
  kEditedText,        // new content, all of it text, base known, metadata as seen
  kEdited,            // new content, and one of these does not hold
  kMetadataDiffers,   // content as seen
  kNotEmpty,          // a directory to be deleted, with names or changes the sandbox never saw
  kLinked,            // as seen, but the file has other names outside the change
  kAsSeen,            // as the sandbox saw it
};
inline constexpr size_t kReals = 23;

enum class Verdict : uint8_t {
  kApply,
  kSkip,      // nothing is left to do
  kMerge,     // of three texts (rules/merge3.h); may still end in a conflict
  kConflict,  // a person must choose a side; until then nothing is applied
  kRefuse,    // no choice makes it right
};

enum class Reason : uint8_t {
  kNone,
  kBothChanged,     // both sides changed it, differently
  kGone,            // the change needs something that is not there
  kNoDirectory,     // its directory is missing, too
  kInTheWay,        // a file of another type is where the change needs its own
  kNotSeen,         // would delete what the sandbox never saw
  kCollision,       // two names are the same there
  kLeadsElsewhere,  // would write outside the target
  kNoRight,         // the caller lacks permission
  kCannotTell,      // reality could not be examined
  kNeverPromoted,   // pipes, sockets and devices
  kContradiction,   // impossible: change and findings disagree on what the sandbox saw
};

// One pair and the verdict on it.
struct Case {
  Incoming incoming;
  Real real;
  std::string_view tag;  // "P-EDIT-ABSENT": in messages, tests and docs/promotion-cases.md
  Verdict verdict;
  Reason reason;
};

// Every pair has a case. "Apply" only means that reality allows it, not that policy or the user
// does.
const Case& Decide(Incoming incoming, Real real);

// Ordered by incoming, then by real.
std::span<const Case> AllCases();

// Describes both sides: "the sandbox edited it; it is gone in reality".
std::string Sentence(const Case& which);

// Tells the caller what to do; "" if there is nothing to do.
std::string_view Cure(Reason reason);

std::string_view NameOf(Incoming incoming);  // "directory metadata"
std::string_view NameOf(Real real);          // "parent is a symlink"
std::string_view NameOf(Verdict verdict);    // "apply"
std::string_view NameOf(Reason reason);      // "both changed"; "" for kNone

}  // namespace cloche::rules
