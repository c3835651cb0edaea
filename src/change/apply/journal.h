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

// What is done to one path. What is replaced or deleted is kept, under the number of the step.
enum class StepKind : uint8_t {
  kCreate,   // where nothing is; a directory is empty, others fill it
  kReplace,  // a file or symlink by another
  kDelete,   // a directory must be empty by then
  kSetDir,   // owner, mode and time of a directory
};

struct DirectoryStatus {
  uint32_t mode = 0755, uid = 0, gid = 0;
  int64_t modified_ns = 0;
  std::map<std::string, std::string> attributes;  // those that differ between old and new
};

// What few steps have.
struct StepDetails {
  DirectoryStatus old_status, new_status;  // of kSetDir
  // Where it is not what the sandbox had: the hash of that, or "merged" if git had a base.
  std::string merged_from;
  std::string before_merged_from;  // of what was there, known from earlier promotions
};

// There may be a million.
struct Step {
  StepKind kind = StepKind::kCreate;
  bool directory = false;
  bool forced = false;      // undone whatever is there now, which `prepared` says then
  uint32_t side_store = 0;  // where it is prepared; 0: in the store
  std::string target;       // of the Reality it is in
  std::string path;
  uint64_t number = 0;
  Identity before;                   // what must be there
  int64_t before_born_ns = 0;        // where others can reach it: a number is soon another file's
  Identity prepared;                 // what will be, as it lies in the store
  int64_t prepared_modified_ns = 0;  // of a file: whoever writes in it changes these
  uint64_t prepared_size = 0;
  // What is known of `before` from earlier promotions: when it really became that; 0: by one of
  // this sandbox.
  int64_t before_changed_ns = 0;
  std::shared_ptr<const StepDetails> few;  // null: it has none

  const StepDetails& details() const;
};

// What a file is known by when its file system comes back, perhaps with another device number.
struct Mark {
  uint64_t device = 0, inode = 0;
  int64_t born_ns = 0;       // 0: nobody knows
  uint64_t file_system = 0;  // its own number, where it has one
};

// Where what goes to another file system is prepared, and what was there is kept.
struct SideStore {
  std::string target;  // of the Reality it is in
  std::string place;   // the directory it lies in
  Mark mark;           // of the target
};

// Something that is there as long as its file system is.
enum class FilesystemIdKind : uint8_t {
  kTarget,
  kDirectory,  // in which a place keeps what was replaced
  kFile,       // of ours at that place
};
struct FilesystemId {
  FilesystemIdKind kind = FilesystemIdKind::kTarget;
  uint32_t place = 0;  // 0: the store; else an side_store
  std::string target;
  Mark mark;
};

// A directory in which names come and go: its time of modification, to be given back with them.
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
  kApplied,  // every step was done; whether they all are on disk the store tells
};
const char* StateName(PromotionState state);

struct Promotion {
  std::string id;
  std::string sandbox;
  std::string project;  // what it was about; "" in journals of older versions
  std::string digest;
  std::string created;  // RFC 3339
  PromotionState state = PromotionState::kPlanned;
  int64_t state_since_ns = 0;  // 0 in journals of older versions
  size_t step_count = 0;
  std::deque<Step> steps;
  std::vector<Parent> parents;
  std::vector<SideStore> side_stores;  // steps count them from 1
  std::vector<FilesystemId> filesystem_ids;
  // When all was done: the time of change of each, for somebody may have changed it since.
  std::vector<int64_t> left_ns;
  std::vector<int64_t> parents_left_ns;
  std::vector<int64_t> kept_settled_ns;  // of what steps keep; 0: others may change it
  // Kept files that have other names in reality: to take one name away gives all of them a time.
  std::map<uint64_t, int64_t> linked_settled_ns;  // by the number of the step
};

inline constexpr char kJournalName[] = "journal";

// A file of lines of JSON, docs/formats/promotion.md.
class Journal {
 public:
  static Result<Journal> Create(int directory);
  static Result<Promotion> Read(int directory, std::string id);
  // Without its steps and what belongs to them: only how many there are.
  static Result<Promotion> ReadHead(int directory, std::string id);
  static Result<Journal> Reopen(int directory);

  // All of what will be done, and that it begins. Whoever asks syncs, then begins.
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
