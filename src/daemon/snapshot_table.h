#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/client.h"
#include "daemon/sandbox_table.h"
#include "daemon/snapshot.h"
#include "policy/snapshot_request.h"

namespace cloche::daemon {

Status CheckReadable(const Snapshot& snapshot);

// All saved states.
class SnapshotTable {
 public:
  explicit SnapshotTable(SandboxTable& sandboxes) : sandboxes_(sandboxes) {}

  const std::map<std::string, Snapshot>& all() const { return snapshots_; }
  const Snapshot* Get(const std::string& id) const;        // null if there is none
  std::vector<Snapshot> Of(const Sandbox& sandbox) const;  // oldest first
  Result<Snapshot> Find(const std::string& ref, const Client& client) const;
  Result<Snapshot> Choose(const Sandbox& sandbox, const RollbackRequest& request) const;
  Json UnreadableJson(const Client& client) const;  // as in SandboxTable

  Result<Snapshot> Rename(const Snapshot& snapshot, const SnapshotRequest& request);
  void Put(const Snapshot& snapshot) { snapshots_[snapshot.id] = snapshot; }
  // Keeps the tree connected: its children become its parent's.
  void Unlink(const Snapshot& snapshot);
  void ForgetLostParents();

 private:
  SandboxTable& sandboxes_;
  std::map<std::string, Snapshot> snapshots_;
};

}  // namespace cloche::daemon
