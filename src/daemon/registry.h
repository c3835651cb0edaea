#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

struct sqlite3;

namespace cloche::daemon {

// Sandboxes that outlive the daemon, in SQLite (docs/formats/registry.md). A row is on disk before
// its sandbox is acknowledged.
class Registry {
 public:
  struct Row {
    std::string id;
    std::string name;
    uint32_t owner = 0;
    std::string state;   // running, stopped, ended
    std::string record;  // JSON: the request as received, created, reason, counters
  };

  // A saved state of a sandbox.
  struct SnapshotRow {
    std::string id;
    std::string sandbox;
    uint32_t owner = 0;
    std::string record;  // JSON
  };

  static Result<std::unique_ptr<Registry>> Open(const std::string& path);
  ~Registry();

  Status Put(const Row& row);
  // All or nothing.
  Status Put(const std::vector<Row>& rows, const std::vector<SnapshotRow>& snapshots = {});
  Status Remove(const std::string& id);
  Result<std::vector<Row>> All();
  Status PutSnapshot(const SnapshotRow& row);
  Status RemoveSnapshot(const std::string& id);
  Result<std::vector<SnapshotRow>> AllSnapshots();

 private:
  Registry(sqlite3* db, std::string reserve) : db_(db), reserve_(std::move(reserve)) {}
  Status Execute(const char* sql);
  void MakeReserve();
  template <typename Bind>
  Status Write(const char* sql, Bind bind);
  sqlite3* db_;
  bool in_transaction_ = false;
  std::string reserve_;  // given up when the disk is full, so that things can be removed
};

}  // namespace cloche::daemon
