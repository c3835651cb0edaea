#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "change/apply/birth_files.h"
#include "change/apply/journal.h"
#include "change/model/change.h"
#include "change/rules/globs.h"
#include "change/walk/merge.h"

namespace cloche::apply {

class ProjectRules;

// A path that a promotion put in place, or an undo restored.
struct Promoted {
  Identity now;             // as it was left
  int64_t changed_ns = 0;   // when it really became that; 0: this sandbox promoted it
  std::string merged_from;  // as in StepDetails
  bool made = false;        // this sandbox promoted something there, so it saw that last
  // Of the promoted file or symlink: shows whether the sandbox has changed its own since.
  int64_t modified_ns = 0;
  uint64_t size = 0;
};

// A directory that promotions put names into.
struct Entered {
  Identity now;            // as the last promotion left it
  bool only_ours = false;  // nobody else had changed it since the sandbox was made
};

// Promoted::merged_from if git had a base: it can be merged again.
inline constexpr char kMerged[] = "merged";

// Each is held in memory until its promotion ends, and a sandbox can make as many as it likes.
inline constexpr size_t kMostChanges = 1'000'000;

struct Wish {
  std::vector<std::string> paths;    // only these and what is below; empty = all
  std::vector<std::string> exclude;  // not these and what is below
  // The same as patterns: of whole paths or, without a slash, of names anywhere in the project.
  std::vector<rules::Glob> path_globs, exclude_globs;
  std::vector<std::string> leave;  // not these
  std::string digest;              // of the changes shown; "" = none were
  int64_t since_ns = 0;            // the sandbox did not see changes in reality after this
  int64_t clock_back_ns = 0;       // how far the clock was set back since
  // Filesystems with their own clocks: how far each is behind ours, by device.
  std::map<uint64_t, int64_t> lags_ns;
  std::vector<std::string> moved;  // and these changed before then, as a refresh found
  bool one_owner = false;          // everything belongs to the caller
  uint32_t uid = 0, gid = 0;       // the caller
  std::vector<uint32_t> groups;    // the caller's other groups
  bool root = false;
  std::optional<uint32_t> project_uid;  // the project's owner
  std::string project, home;
  bool allow_triggers = false;
  const ProjectRules* rules = nullptr;       // from the project's own file
  std::map<std::string, Promoted> promoted;  // what earlier promotions left, by path
  // For a fork: its ancestors, and until when their promotions count as its own.
  std::map<std::string, int64_t> ancestors;
  // Files that this sandbox's promotions took away: inode -> path.
  std::unordered_multimap<uint64_t, std::string> taken;
  // Directories that this sandbox's promotions put something into.
  std::unordered_map<std::string, Entered> entered;
  // When a promotion or undo removes or restores a name, the file's other names get a new ctime; an
  // undo changes directories, too. (inode, new ctime) -> ctime before.
  std::map<std::pair<uint64_t, int64_t>, int64_t> touched;
  // How to resolve conflicts at and below these paths: keep reality's version, or take the
  // sandbox's. Or per path, the content to use.
  std::vector<std::string> keep_ours, take_theirs;
  std::map<std::string, std::string> texts;
  bool with_texts = false;  // the caller chooses lines
  std::string to;           // apply to this directory instead of the project
  size_t most = kMostChanges;
  bool with_noise = false;  // include what diff does not show
  bool others = false;      // other sandboxes may show directories that go
};

// Drops the ctime changes that promotions caused through other names of the file, so that only
// other people's changes remain. `until_ns`: go back no further than that.
Identity WithoutTouches(const Wish& wish, Identity now, int64_t until_ns = 0);

// One path, as it should become.
struct Wanted {
  walk::SharedFd source;            // the upper's directory that holds it, if it should exist
  std::optional<std::string> text;  // its content, if not the upper's
  Identity before;                  // what reality had when it was compared
  std::string target;               // the overlay it belongs to
  int64_t before_changed_ns = 0;    // for Step
  std::shared_ptr<const StepDetails> few;
};

// Anything that keeps the whole promotion from being applied.
struct Conflict {
  std::string path;
  std::string reason;
  std::string cure;
  std::string_view tag = {};            // of docs/promotion-cases.md; "" = none
  bool may_choose = false;              // the caller can choose a side
  std::vector<std::string> shown = {};  // both sides, the lines that differ
};

// A file that makes something run later, or a credential that would leave the sandbox. Each must be
// confirmed.
struct Alarm {
  std::string path;
  std::string kind;  // id of a trigger class, or "credential"
  std::string reason;
  bool alarm = true;                   // false: only shown
  std::vector<std::string> effective;  // the lines that matter
};

// The texts of one path, to choose from.
struct Texts {
  std::string ours, theirs;  // reality's; what would be put there, or in a conflict the sandbox's
  std::optional<std::string> base;
  std::string merged;  // in a conflict, with markers
};
inline constexpr size_t kMostTexts = 8 << 20;  // in all

// Whether an attribute is promoted: user attributes and ACLs are. Overlay marks would hide files in
// the next sandbox.
bool IsTakenOver(const std::string& attribute);

struct Plan {
  std::string digest;
  // Lines of docs/formats/changes.md, sorted by path; decoded, each would take three times the
  // space. `wanted` holds the rest.
  std::vector<std::string> changes;
  std::deque<Wanted> wanted;
  std::vector<Conflict> conflicts;
  std::vector<Alarm> alarms;       // to be confirmed first
  std::vector<std::string> notes;  // what is not promoted as it is, and why
  std::map<std::string, Texts> texts;
  std::vector<std::string> takes;      // directories of reality that go, topmost only
  std::vector<std::string> merged;     // both sides changed these, in different places
  std::vector<std::string> unmatched;  // paths and patterns of the wish that match nothing
  // Numbers of files left out, by noise group.
  std::map<std::string, size_t, std::less<>> left_out;
};

// Plans how to make reality what the sandbox shows. Changes nothing.
Result<Plan> MakePlan(const StateLayout& layout, const Wish& wish, BirthFiles& base);

}  // namespace cloche::apply
