#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "daemon/event.h"
#include "daemon/registry.h"
#include "policy/service_request.h"

namespace cloche::daemon {

// Why a state was saved. Manual ones stay until the user removes them; the others are pruned.
enum class SnapshotKind {
  kManual,
  kCommand,     // before a command
  kTime,        // at an interval
  kRollback,    // the state that a rollback left
  kFork,        // temporary, for a fork
  kUnreadable,  // its record is damaged, or of a later version: it can only be removed
};

// A saved state of a sandbox.
struct Snapshot {
  std::string id;
  std::string sandbox;
  uint32_t owner = 0;
  std::string name;
  std::string note;
  std::string parent;  // the snapshot that the sandbox equalled before; "" = its base
  SnapshotKind kind = SnapshotKind::kManual;
  uint64_t command = 0;  // kCommand: its number
  std::chrono::system_clock::time_point created = std::chrono::system_clock::now();

  Json ToJson() const;
  Registry::SnapshotRow ToRow() const;
  static Snapshot FromRow(const Registry::SnapshotRow& row);  // kUnreadable: `note` says why
};

// Its data was copied later: in such a state it would use the live files below.
bool IsOlder(const Snapshot& snapshot, const ServiceRequest& service);
// It existed when it was requested, but no longer does.
std::unexpected<Error> NoMore(const Snapshot& snapshot);

}  // namespace cloche::daemon
