#include "daemon/snapshot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "daemon/command_run.h"

namespace cloche::daemon {
namespace {

constexpr std::array kKinds = {"manual", "command", "time", "rollback", "fork", "unreadable"};

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

namespace {

// Throws if a field is invalid.
void Read(const Json& record, Snapshot& out) {
  const auto kind = std::ranges::find(kKinds, record.at("kind").get<std::string>(),
                                      [](const char* each) { return std::string(each); });
  if (kind == kKinds.end()) throw std::runtime_error("its kind is not known to this version");
  out.name = record.value("name", "");
  out.note = record.value("note", "");
  out.parent = record.value("parent", "");
  out.kind = static_cast<SnapshotKind>(kind - kKinds.begin());
  out.command = record.value("command", uint64_t{0});
  out.created = std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::duration<double>(record.value("created", 0.0))));
}

}  // namespace

Snapshot Snapshot::FromRow(const Registry::SnapshotRow& row) {
  Snapshot snapshot;
  snapshot.id = row.id;
  snapshot.sandbox = row.sandbox;
  snapshot.owner = row.owner;
  try {
    Snapshot read = snapshot;
    Read(Json::parse(row.record), read);
    return read;
  } catch (const std::exception& error) {
    snapshot.kind = SnapshotKind::kUnreadable;
    snapshot.note = fmt::format("its record cannot be read: {}", error.what());
    snapshot.created = {};
    return snapshot;
  }
}

bool IsOlder(const Snapshot& snapshot, const ServiceRequest& service) {
  return snapshot.created <
         std::chrono::system_clock::time_point(std::chrono::milliseconds(service.since_ms));
}

std::unexpected<Error> NoMore(const Snapshot& snapshot) {
  return Fail(Code::kNotFound, "find snapshot: " + snapshot.id + " was removed just now",
              "cloche snapshots SANDBOX shows the ones there are");
}

}  // namespace cloche::daemon
