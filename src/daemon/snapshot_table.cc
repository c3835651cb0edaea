#include "daemon/snapshot_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace cloche::daemon {

Status CheckReadable(const Snapshot& snapshot) {
  if (snapshot.kind != SnapshotKind::kUnreadable) return {};
  return Fail(Code::kConflict, fmt::format("use {}: {}", snapshot.id, snapshot.note),
              fmt::format("the version of cloche that wrote it may read it; cloche snapshots rm {} "
                          "removes it",
                          snapshot.id));
}

const Snapshot* SnapshotTable::Get(const std::string& id) const {
  const auto found = snapshots_.find(id);
  return found == snapshots_.end() ? nullptr : &found->second;
}

Json SnapshotTable::UnreadableJson(const Client& client) const {
  Json list = Json::array();
  for (const auto& [id, snapshot] : snapshots_)
    if (snapshot.owner == client.peer.uid && snapshot.kind == SnapshotKind::kUnreadable)
      list.push_back({{"id", id},
                      {"name", ""},
                      {"reason", snapshot.note},
                      {"remove", "cloche snapshots rm " + id}});
  return list;
}

std::vector<Snapshot> SnapshotTable::Of(const Sandbox& sandbox) const {
  std::vector<Snapshot> list;
  for (const auto& [id, snapshot] : snapshots_)
    if (snapshot.sandbox == sandbox.id && snapshot.kind != SnapshotKind::kFork)
      list.push_back(snapshot);
  std::ranges::sort(list, {}, &Snapshot::created);
  return list;
}

Result<Snapshot> SnapshotTable::Find(const std::string& ref, const Client& client) const {
  std::vector<const Snapshot*> found;
  for (const auto& [id, snapshot] : snapshots_) {
    if (snapshot.owner != client.peer.uid || snapshot.kind == SnapshotKind::kFork) continue;
    if (id == ref) return snapshot;
    if (!ref.empty() &&
        (snapshot.name == ref || id.starts_with(ref) || id.starts_with("sn_" + ref)))
      found.push_back(&snapshot);
  }
  if (found.size() == 1) return *found[0];
  const std::string shown = EscapeForTerminal(ref);
  if (found.empty())
    return Fail(Code::kNotFound, fmt::format("find snapshot: no snapshot is called {}", shown),
                "cloche snapshots SANDBOX shows the ones there are");
  return Fail(Code::kConflict,
              fmt::format("find snapshot: {} may be {} snapshots", shown, found.size()),
              "give its id: cloche snapshots SANDBOX");
}

Result<Snapshot> SnapshotTable::Choose(const Sandbox& sandbox,
                                       const RollbackRequest& request) const {
  const std::vector<Snapshot> list = Of(sandbox);
  const std::string cure = "cloche snapshots " + sandbox.id + " shows the ones there are";
  if (request.undo_command) {
    // Goes back step by step; a state that the sandbox is already in is not undone again.
    auto at = snapshots_.find(sandbox.history().head());
    if (at != snapshots_.end() && sandbox.history().is_current())
      at = snapshots_.find(at->second.parent);
    while (at != snapshots_.end() && at->second.kind != SnapshotKind::kCommand)
      at = snapshots_.find(at->second.parent);
    if (at != snapshots_.end()) return at->second;
    return Fail(Code::kNotFound, "undo command: the state before it was not saved",
                "make the sandbox with --auto-snapshot every-command");
  }
  if (request.snapshot.empty()) {
    if (auto head = snapshots_.find(sandbox.history().head()); head != snapshots_.end())
      return head->second;
    return Fail(Code::kNotFound, "roll back: " + sandbox.id + " has no snapshot",
                "cloche snapshot " + sandbox.id + " makes one");
  }
  std::vector<const Snapshot*> found;
  for (const Snapshot& each : list) {
    if (each.id == request.snapshot || each.name == request.snapshot) return each;
    if (each.id.starts_with(request.snapshot) || each.id.starts_with("sn_" + request.snapshot))
      found.push_back(&each);
  }
  if (found.size() == 1) return *found[0];
  return Fail(
      found.empty() ? Code::kNotFound : Code::kConflict,
      fmt::format("roll back: {} has {} snapshot {}", sandbox.id,
                  found.empty() ? "no" : "more than one", EscapeForTerminal(request.snapshot)),
      cure);
}

Result<Snapshot> SnapshotTable::Rename(const Snapshot& snapshot, const SnapshotRequest& request) {
  CLOCHE_TRY(CheckReadable(snapshot));
  Snapshot changed = snapshot;
  changed.name = request.name;
  if (!request.note.empty()) changed.note = request.note;
  for (const auto& [id, other] : snapshots_)
    if (!request.name.empty() && id != snapshot.id && other.sandbox == snapshot.sandbox &&
        other.name == request.name)
      return Fail(Code::kConflict,
                  fmt::format("name {}: {} is the name of {}", snapshot.id, request.name, id),
                  "choose another name");
  // A named snapshot is to be kept.
  if (!changed.name.empty()) changed.kind = SnapshotKind::kManual;
  CLOCHE_TRY(sandboxes_.registry().PutSnapshot(changed.ToRow()));
  snapshots_[changed.id] = changed;
  return changed;
}

// On disk the link may stay stale: a parent that is gone counts as the base.
void SnapshotTable::Unlink(const Snapshot& snapshot) {
  snapshots_.erase(snapshot.id);
  for (auto& [id, other] : snapshots_) {
    if (other.parent != snapshot.id) continue;
    other.parent = snapshot.parent;
    if (sandboxes_.Contains(other.sandbox)) (void)sandboxes_.registry().PutSnapshot(other.ToRow());
  }
}

void SnapshotTable::ForgetLostParents() {
  for (auto& [id, snapshot] : snapshots_)
    if (!snapshots_.contains(snapshot.parent)) snapshot.parent.clear();
}

}  // namespace cloche::daemon
