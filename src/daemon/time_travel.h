#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "daemon/flusher.h"
#include "daemon/snapshot_table.h"
#include "daemon/turn.h"

namespace cloche::daemon {

// Saved states: takes, restores, copies into new sandboxes, and prunes them.
class TimeTravel {
 public:
  TimeTravel(asio::io_context& io, Machine& machine, SandboxTable& table, SnapshotTable& snapshots,
             Spawn& spawn, Flusher& flusher)
      : io_(io),
        machine_(machine),
        table_(table),
        snapshots_(snapshots),
        spawn_(spawn),
        flusher_(flusher) {}

  Task<Result<Snapshot>> Take(std::shared_ptr<Sandbox> sandbox, SnapshotRequest request,
                              SnapshotKind kind, StepTimer* steps = nullptr);
  // The same, if the caller already holds the sandbox's turn.
  Task<Result<Snapshot>> Save(std::shared_ptr<Sandbox> sandbox, SnapshotRequest request,
                              SnapshotKind kind, StepTimer* steps);
  // Returns {id, rolled_back_to, kept_as, ...}.
  Task<Result<Json>> Rollback(std::shared_ptr<Sandbox> sandbox, RollbackRequest request);
  Task<Result<Sandboxes>> Fork(std::shared_ptr<Sandbox> parent, ForkRequest request, Client client);
  Task<Result<Sandboxes>> Fork(Snapshot snapshot, ForkRequest request, Client client);
  Task<Status> Drop(Snapshot snapshot);
  Task<void> DropAll(std::shared_ptr<Sandbox> sandbox);  // it is being removed
  void DropAgain();                                      // retries one that the full disk still has

  Task<Status> Reconcile();  // saved states on disk with the records

 private:
  struct Dropped {
    std::string sandbox, snapshot;
  };
  Task<Status> Forget(Snapshot snapshot);
  Status ForgetRecord(Snapshot snapshot);
  Task<Status> DropFiles(Dropped dropped);  // retried if it fails
  void DropLater(const Snapshot& snapshot);
  Status ForgetMissing(const std::string& missing);
  Task<void> Prune(std::shared_ptr<Sandbox> sandbox);
  void PruneLater(std::shared_ptr<Sandbox> sandbox);
  Task<Result<Sandboxes>> Copy(std::shared_ptr<Sandbox> parent, Snapshot snapshot,
                               ForkRequest request, Client client);
  Task<Status> CopyFiles(const Sandboxes& forks, std::string snapshot);

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  SnapshotTable& snapshots_;
  Spawn& spawn_;
  Flusher& flusher_;
  std::deque<Dropped> undropped_;  // no record left, but the full disk still has the files
};

}  // namespace cloche::daemon
