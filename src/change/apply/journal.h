#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "change/apply/reality.h"
#include "sys/fd.h"

namespace cloche::apply {

// One path's change. The file it replaces or deletes is kept under the step's number.
enum class StepKind : uint8_t {
  kCreate,   // where nothing is; a directory starts empty
  kReplace,  // a file or symlink by another
  kDelete,   // a directory must be empty by then
  kSetDir,   // owner, mode and time of a directory
};

struct DirectoryStatus {
  uint32_t mode = 0755, uid = 0, gid = 0;
  int64_t modified_ns = 0;
  std::map<std::string, std::string> attributes;  // those that differ between old and new
};

// Rarely used fields.
struct StepDetails {
  DirectoryStatus old_status, new_status;  // for kSetDir
  // If the content is not the sandbox's: the sandbox's hash, or "merged" if git had a base.
  std::string merged_from;
  std::string before_merged_from;  // the same for `before`, from earlier promotions
};

// There may be a million of these.
struct Step {
  StepKind kind = StepKind::kCreate;
  bool directory = false;
  bool forced = false;      // undone whatever is there now, which is then in `prepared`
  uint32_t side_store = 0;  // where it is prepared; 0: in the store
  std::string target;       // the Reality it is in
  std::string path;
  uint64_t number = 0;
  Identity before;                   // what must be there
  int64_t before_born_ns = 0;        // if others can reach it: inodes are soon reused
  Identity prepared;                 // what will be there, as it lies in the store
  int64_t prepared_modified_ns = 0;  // of a file; any write to it changes these
  uint64_t prepared_size = 0;
  // When `before` really became what it is, from earlier promotions; 0: a promotion of this sandbox
  // made it.
  int64_t before_changed_ns = 0;
  std::shared_ptr<const StepDetails> few;  // null: none

  const StepDetails& details() const;
};

// Identifies a file when its filesystem comes back, perhaps with another device number.
struct Mark {
  uint64_t device = 0, inode = 0;
  int64_t born_ns = 0;       // 0: unknown
  uint64_t file_system = 0;  // its filesystem id, if it has one
};

// Where changes for another filesystem are prepared and the replaced files are kept.
struct SideStore {
  std::string target;  // the Reality it is in
  std::string place;   // the directory that contains it
  Mark mark;           // of the target
};

// Something that exists as long as its filesystem is there.
enum class FilesystemIdKind : uint8_t {
  kTarget,
  kDirectory,  // where a place keeps replaced files
  kFile,       // our own file at that place
};
struct FilesystemId {
  FilesystemIdKind kind = FilesystemIdKind::kTarget;
  uint32_t place = 0;  // 0: the store; otherwise a side store
  std::string target;
  Mark mark;
};

// A directory in which names come and go, with the modification time to restore on undo.
struct Parent {
  std::string target;
  std::string path;
  Identity before;
  int64_t modified_ns = 0;
};

enum class PromotionState : uint8_t {
  kPlanned,
  kApplying,
  kDone,
  kReverted,
  kUndoing,
  kUndone,
  kApplied,  // every step was done; whether they are all on disk, the store tells
};
const char* StateName(PromotionState state);

struct Promotion {
  std::string id;
  std::string sandbox;
  std::string project;  // the project; "" in journals of older versions
  std::string digest;
  std::string created;  // RFC 3339
  PromotionState state = PromotionState::kPlanned;
  int64_t state_since_ns = 0;  // 0 in journals of older versions
  size_t step_count = 0;
  std::deque<Step> steps;
  std::vector<Parent> parents;
  std::vector<SideStore> side_stores;  // steps count them from 1
  std::vector<FilesystemId> filesystem_ids;
  // The ctime of each step's path when all was done; a different one now means that somebody
  // changed it.
  std::vector<int64_t> left_ns;
  std::vector<int64_t> parents_left_ns;
  std::vector<int64_t> kept_settled_ns;  // of kept files; 0: others may change it
  // Kept files with other names in reality: removing one name changes the ctime of all of them.
  std::map<uint64_t, int64_t> linked_settled_ns;  // by step number
};

inline constexpr char kJournalName[] = "journal";

// A file of JSON lines; see docs/formats/promotion.md.
class Journal {
 public:
  static Result<Journal> Create(int directory);
  static Result<Promotion> Read(int directory, std::string id);
  // Without the steps and what belongs to them; only counts them.
  static Result<Promotion> ReadHead(int directory, std::string id);
  static Result<Journal> Reopen(int directory);

  // Writes the whole plan and that it begins. The caller syncs before the first step.
  Status WritePlan(const Promotion& promotion);
  Status WriteSideStore(const SideStore& side_store);
  Status WriteFilesystemIds(const std::vector<FilesystemId>& filesystem_ids);
  Status WriteLeft(const Promotion& promotion);
  Status WriteForced(const Step& step);
  Status WriteState(PromotionState state);
  Status Sync();

 private:
  Status Write(const std::string& text);
  sys::Fd file_;
};

}  // namespace cloche::apply
