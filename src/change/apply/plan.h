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

// What a promotion put in place or took back.
struct Promoted {
  Identity now;             // as it was left
  int64_t changed_ns = 0;   // when it really became that; 0: this sandbox's promotion made it
  std::string merged_from;  // of StepDetails
  bool made = false;        // a promotion of this sandbox put something there: it saw that last
  // Of a file or symlink it put there: what tells whether the sandbox has changed its own since.
  int64_t modified_ns = 0;
  uint64_t size = 0;
};

// A directory that promotions put names into.
struct Entered {
  Identity now;            // as the last of them left it
  bool only_ours = false;  // nobody else had changed it since the sandbox was made
};

// Promoted::merged_from of what git had a base of: it can be merged again.
inline constexpr char kMerged[] = "merged";

// Each is held in memory until its promotion is over, and a sandbox can make as many as it likes.
inline constexpr size_t kMostChanges = 1'000'000;

struct Wish {
  std::vector<std::string> paths;    // only these and what is below; none = all
  std::vector<std::string> exclude;  // not these and what is below
  // The same as patterns: of whole paths, or without a slash of names anywhere in the project.
  std::vector<rules::Glob> path_globs, exclude_globs;
  std::vector<std::string> leave;  // not these
  std::string digest;              // of what was shown; "" = nothing was
  int64_t since_ns = 0;            // what changed in reality since then was not seen
  int64_t clock_back_ns = 0;       // by how much the clock was set back since
  // Of file systems with clocks of their own: how far they are behind ours, by device.
  std::map<uint64_t, int64_t> lags_ns;
  std::vector<std::string> moved;  // and these before then: a refresh said so
  bool one_owner = false;          // everything belongs to whoever asks
  uint32_t uid = 0, gid = 0;       // who that is
  std::vector<uint32_t> groups;    // his others
  bool root = false;
  std::optional<uint32_t> project_uid;  // whose the project is
  std::string project, home;
  bool allow_triggers = false;
  const ProjectRules* rules = nullptr;       // of the project's own file
  std::map<std::string, Promoted> promoted;  // what earlier promotions left, by path
  // Of a fork: whose promotions before which moment count as its own.
  std::map<std::string, int64_t> ancestors;
  // What this sandbox's own took away: by inode, from which path.
  std::unordered_multimap<uint64_t, std::string> taken;
  // Directories this sandbox's own put something into, and which they were.
  std::unordered_map<std::string, Entered> entered;
  // Names that promotions took away or put back gave the other names of the same file a time, and
  // their undoing the directories: by inode and that time, the one it had before.
  std::map<std::pair<uint64_t, int64_t>, int64_t> touched;
  // How conflicts are resolved: what reality has stays, or the sandbox's goes in, for these and
  // what is below; or this content goes in.
  std::vector<std::string> keep_ours, take_theirs;
  std::map<std::string, std::string> texts;
  bool with_texts = false;  // a person chooses lines
  std::string to;           // not onto the project, but onto this directory
  size_t most = kMostChanges;
  bool with_noise = false;  // also what diff does not show
  bool others = false;      // other sandboxes may show the content of directories that go
};

// What somebody else has made of it, without what promotions did to other names of the file. With
// `until_ns`: no further back than that.
Identity WithoutTouches(const Wish& wish, Identity now, int64_t until_ns = 0);

// One path, as it shall be.
struct Wanted {
  walk::SharedFd source;            // the directory of an upper it is in, if it shall be
  std::optional<std::string> text;  // its content, where that is not the upper's
  Identity before;                  // what reality had when it was compared
  std::string target;               // the overlay it belongs to
  int64_t before_changed_ns = 0;    // of Step
  std::shared_ptr<const StepDetails> few;
};

// Something that keeps the whole from being applied.
struct Conflict {
  std::string path;
  std::string reason;
  std::string cure;
  std::string_view tag = {};            // of docs/promotion-cases.md; "" = it is none of them
  bool may_choose = false;              // one side can be taken
  std::vector<std::string> shown = {};  // both sides, the lines that differ
};

// A file that makes something run later, or a credential that would leave with it. Each needs a yes
// of its own.
struct Alarm {
  std::string path;
  std::string kind;  // id of a class of triggers, or "credential"
  std::string reason;
  bool alarm = true;                   // false: only shown
  std::vector<std::string> effective;  // the lines that matter
};

// The texts of one path, for whoever chooses among them.
struct Texts {
  std::string ours, theirs;  // reality's; what would be put there, or of a conflict the sandbox's
  std::optional<std::string> base;
  std::string merged;  // of a conflict, with markers
};
inline constexpr size_t kMostTexts = 8 << 20;  // of all together

// Whether an attribute comes along: people's own and ACLs. Marks of overlays would hide files in
// the next sandbox.
bool IsTakenOver(const std::string& attribute);

struct Plan {
  std::string digest;
  // Lines of docs/formats/changes.md, in ascending order of the path: decoded each takes three
  // times as much. And what else is known of each.
  std::vector<std::string> changes;
  std::deque<Wanted> wanted;
  std::vector<Conflict> conflicts;
  std::vector<Alarm> alarms;       // those that need a yes first
  std::vector<std::string> notes;  // what is not taken over as it is, and why
  std::map<std::string, Texts> texts;
  std::vector<std::string> takes;      // directories of reality that go, without what is in them
  std::vector<std::string> merged;     // both sides changed these, in different places
  std::vector<std::string> unmatched;  // of the wish: paths and patterns that lead to nothing
  // Files, by the group that diff does not show.
  std::map<std::string, size_t, std::less<>> left_out;
};

// What is to be done to make reality what the sandbox shows. Nothing is touched.
Result<Plan> MakePlan(const StateLayout& layout, const Wish& wish, BirthFiles& base);

}  // namespace cloche::apply
