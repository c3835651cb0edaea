#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cloche::rules {

// What the change set does at a path. A rename is not one of them: it is the deletion of one name
// and the addition of another. Reality has its own state at both, so each half is a case of its
// own, and nothing at all is applied unless both can be.
enum class Incoming : uint8_t {
  kAdd,         // a file or symlink where the sandbox saw nothing
  kEdit,        // new content of a file, and perhaps new metadata
  kMetadata,    // mode, owner or attributes only; no directory
  kDelete,      // no directory
  kRetarget,    // a symlink points elsewhere
  kTypeChange,  // a file became a symlink, or the like; no directory on either side
  kFileToDirectory,
  kDirectoryToFile,    // everything below it is deleted
  kAddDirectory,       // where the sandbox saw nothing
  kDirectoryMetadata,  // mode, owner or attributes
  kDeleteDirectory,    // everything below it is deleted, too
  kLink,               // a name of a file that has several names in the change, added or changed
  kSpecial,            // a socket or a device, or something that becomes one
};
inline constexpr size_t kIncomings = 13;

// What is there in reality, compared with what the sandbox saw when it was made. The first that
// holds, in this order: it begins with what would make every other answer wrong. What the change
// set does earlier (parents first) counts as done.
enum class Real : uint8_t {
  kUnknown,           // it could not be looked at
  kParentSymlink,     // a directory on the way to it is a symlink
  kParentFile,        // a directory on the way to it is no directory
  kParentMissing,     // a directory on the way to it is gone, and the change does not make it
  kMountPoint,        // it is a mount point, or behind one
  kCaseCollision,     // the directory ignores case, and has the name in another
  kUnicodeCollision,  // the same with another normalization form
  kSame,              // what the change would make of it
  kImmutable,         // it, or its directory, is immutable or append-only
  kUnwritable,        // the person asking may not change it there
  kHidden,            // the sandbox was not shown it
  kAppeared,          // no directory; the sandbox saw nothing there
  kAbsent,            // the sandbox saw something there
  kDirectoryHere,     // the sandbox saw none
  kFileHere,          // the sandbox saw a directory
  kOtherType,         // neither this nor what the sandbox saw is a directory
  kRetargeted,        // a symlink that points elsewhere
  kEditedText,        // new content, all of it text, its base is known, metadata as seen
  kEdited,            // new content, and one of these does not hold
  kMetadataDiffers,   // content as seen
  kNotEmpty,          // a directory to be deleted, with names or changes the sandbox never saw
  kLinked,            // as seen, and the file has more names outside of the change
  kAsSeen,            // as the sandbox saw it
};
inline constexpr size_t kReals = 23;

enum class Verdict : uint8_t {
  kApply,
  kSkip,      // nothing is left to do
  kMerge,     // of three texts (promote/merge3.h); it may still end in a conflict
  kConflict,  // a person chooses a side; until then nothing at all is applied
  kRefuse,    // no choice makes it right
};

enum class Reason : uint8_t {
  kNone,
  kBothChanged,     // both sides did something else to it
  kGone,            // what the change needs is not there
  kNoDirectory,     // nor is the directory it is in
  kInTheWay,        // another type of file is where the change needs its own
  kNotSeen,         // would delete what the sandbox never saw
  kCollision,       // two names that are one there
  kLeadsElsewhere,  // would write outside of the target
  kNoRight,         // whoever asks may not
  kCannotTell,      // reality could not be looked at
  kNeverPromoted,   // sockets and devices
  kContradiction,   // cannot be: the change and what was found disagree on what the sandbox saw
};

// One pair and what is done about it.
struct Case {
  Incoming incoming;
  Real real;
  std::string_view tag;  // "P-EDIT-ABSENT": in messages, tests and docs/promotion-cases.md
  Verdict verdict;
  Reason reason;
};

// Every pair has one. It takes no side: "apply" says that reality allows it, and not that the
// policy or the person does.
const Case& Decide(Incoming incoming, Real real);

// By incoming, then by real.
std::span<const Case> AllCases();

// Both sides for a person: "the sandbox edited it; it is gone in reality".
std::string Sentence(const Case& which);

// What whoever asks can do; "" when nothing has to be done.
std::string_view Cure(Reason reason);

std::string_view NameOf(Incoming incoming);  // "directory metadata"
std::string_view NameOf(Real real);          // "parent is a symlink"
std::string_view NameOf(Verdict verdict);    // "apply"
std::string_view NameOf(Reason reason);      // "both changed"; "" for kNone

}  // namespace cloche::rules
