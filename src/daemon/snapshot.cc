#include "daemon/snapshot.h"

#include <algorithm>
#include <array>

#include "daemon/command_run.h"

namespace cloche::daemon {
namespace {

constexpr std::array kKinds = {"manual", "command", "time", "rollback", "fork"};

double Seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

Json Snapshot::ToJson() const {
  return {{"id", id},
          {"sandbox", sandbox},
          {"name", name},
          {"note", note},
          {"parent", parent},
          {"kind", kKinds[static_cast<size_t>(kind)]},
          {"command", command == 0 ? Json() : Json(command)},
          {"created", Rfc3339(created)}};
}

Registry::SnapshotRow Snapshot::ToRow() const {
  Json record = ToJson();
  record["created"] = Seconds(created);
  record["command"] = command;
  return {id, sandbox, owner, record.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Result<Snapshot> Snapshot::FromRow(const Registry::SnapshotRow& row) {
  const Json record = Json::parse(row.record, nullptr, false);
  const auto kind = record.is_object()
                        ? std::ranges::find(kKinds, record.value("kind", ""),
                                            [](const char* each) { return std::string(each); })
                        : kKinds.end();
  if (kind == kKinds.end())
    return Fail(Code::kUnavailable, "read registry: the record of " + row.id + " is damaged",
                "restore the registry from a backup, or move the state directory away");
  Snapshot snapshot;
  snapshot.id = row.id;
  snapshot.sandbox = row.sandbox;
  snapshot.owner = row.owner;
  snapshot.name = record.value("name", "");
  snapshot.note = record.value("note", "");
  snapshot.parent = record.value("parent", "");
  snapshot.kind = static_cast<SnapshotKind>(kind - kKinds.begin());
  snapshot.command = record.value("command", uint64_t{0});
  snapshot.created = std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::duration<double>(record.value("created", 0.0))));
  return snapshot;
}

}  // namespace cloche::daemon
