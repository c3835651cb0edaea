#include <fmt/core.h>

#include <boost/asio/co_spawn.hpp>
#include <filesystem>
#include <stdexcept>

#include "daemon/engine.h"
#include "policy/environment.h"
#include "policy/stored_request.h"
#include "sys/file.h"

// Sandboxes as they are on disk, and found again at the next start.
namespace cloche::daemon {
namespace {

std::chrono::system_clock::time_point TimeAt(double seconds) {
  if (!(seconds >= 0 && seconds < 1e10)) throw std::out_of_range("it holds an invalid time");
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::duration<double>(seconds)));
}

// Of one that an earlier version made nothing is known but when.
void ReadClock(const Json& json, Sandbox& sandbox) {
  const ClockReading last{json.value("boot", "before clocks were noted"),
                          json.value("real_ns", sandbox.birth_ns),
                          json.value("since_boot_ns", int64_t{0})};
  sandbox.clock = ClockTrail(last, json.value("back_ns", int64_t{0}));
  sandbox.clock_back_before_ns = json.value("back_before_ns", int64_t{0});
  sandbox.clock.Observe(sys::ReadClocks());
}

}  // namespace

void LiveOn(SandboxRequest& request) {
  if (!request.limits.life) request.limits.life = 0;
}

Status CheckReadable(const Sandbox& sandbox) {
  if (sandbox.state != Sandbox::State::kUnreadable) return {};
  return Fail(
      Code::kConflict, fmt::format("use {}: {}", sandbox.id, sandbox.reason),
      fmt::format("the version of cloche that wrote it may read it; cloche rm {} removes it "
                  "with its files",
                  sandbox.id));
}

Status CheckReadable(const Snapshot& snapshot) {
  if (snapshot.kind != SnapshotKind::kUnreadable) return {};
  return Fail(Code::kConflict, fmt::format("use {}: {}", snapshot.id, snapshot.note),
              fmt::format("the version of cloche that wrote it may read it; cloche snapshots rm {} "
                          "removes it",
                          snapshot.id));
}

Registry::Row Engine::RowOf(const Sandbox& sandbox) const {
  static constexpr const char* kStates[] = {"coming", "running", "stopped",
                                            "ended",  "going",   "unreadable"};
  Json record = {
      {"request", StoreRequest(sandbox.request)},
      {"created", std::chrono::duration<double>(sandbox.created.time_since_epoch()).count()},
      {"lives_since",
       std::chrono::duration<double>(sandbox.lives_since.time_since_epoch()).count()},
      {"reason", sandbox.reason},
      {"commands", sandbox.commands_started},
      {"gid", sandbox.planned.plan.spec.caller.gid},
      {"groups", sandbox.planned.plan.spec.caller.groups},
      {"head", sandbox.head},
      {"head_is_current", sandbox.head_is_current},
      {"origin", sandbox.origin},
      {"birth_ns", sandbox.birth_ns},
      {"clock",
       {{"boot", sandbox.clock.last().boot},
        {"real_ns", sandbox.clock.last().real_ns},
        {"since_boot_ns", sandbox.clock.last().since_boot_ns},
        {"back_ns", sandbox.clock.back_ns()},
        {"back_before_ns", sandbox.clock_back_before_ns}}},
      {"moved", sandbox.moved},
      {"guarded", sandbox.guarded},
      {"earlier_births", sandbox.earlier_births},
      {"ancestors", sandbox.ancestors},
      {"birth_note", sandbox.birth_note},
      {"project_file_digest", sandbox.project_file_digest}};
  return {sandbox.id, sandbox.name, sandbox.owner, kStates[static_cast<int>(sandbox.state)],
          record.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

bool Engine::HasRecord(const Sandbox& sandbox) {
  // What cannot be read stays as it was found.
  return sandbox.keep && sandbox.state != Sandbox::State::kUnreadable;
}

Status Engine::Save(const Sandbox& sandbox) {
  if (!HasRecord(sandbox)) return {};
  if (sandbox.state != Sandbox::State::kGoing) CLOCHE_TRY(CheckStorable(sandbox.request));
  return registry_.Put(RowOf(sandbox));
}

// Logs live as long as their sandbox, those of disposable ones for a day.
void Engine::RemoveLogs(const std::string& id) {
  std::error_code error;
  const auto yesterday = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
  for (const auto& entry :
       std::filesystem::directory_iterator(directories_.state + "/daemon/logs", error)) {
    std::string name = entry.path().filename();
    std::string owner = name.substr(0, name.find('-'));
    bool stale =
        id.empty() && !sandboxes_.contains(owner) && entry.last_write_time(error) < yesterday;
    if (stale || owner == id) std::filesystem::remove(entry.path(), error);
  }
}

Result<std::shared_ptr<Sandbox>> Engine::ReadRow(const Registry::Row& row) {
  if (row.state != "running" && row.state != "stopped" && row.state != "ended")
    return Fail(Code::kInvalid, "this version does not know the state " + row.state);
  const auto record = nlohmann::json::parse(row.record);
  ASSIGN_OR_RETURN(SandboxRequest request, ReadStoredRequest(record.at("request")));
  auto sandbox = MakeSandbox(row.id, row.owner);
  sandbox->name = row.name;
  sandbox->keep = true;
  sandbox->request = std::move(request);
  sandbox->PinProjectFile(sandbox->request.project_file);
  LiveOn(sandbox->request);
  sandbox->created = TimeAt(record.value("created", 0.0));
  sandbox->lives_since = TimeAt(record.value("lives_since", record.value("created", 0.0)));
  sandbox->reason = record.value("reason", "");
  sandbox->commands_started = record.value("commands", uint64_t{0});
  sandbox->head = record.value("head", "");
  sandbox->head_is_current = record.value("head_is_current", false);
  sandbox->origin = record.value("origin", Json());
  sandbox->birth_ns = record.value("birth_ns", std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                   sandbox->created.time_since_epoch())
                                                   .count());
  sandbox->moved = record.value("moved", std::vector<std::string>());
  sandbox->guarded = record.value("guarded", std::vector<std::string>());
  sandbox->earlier_births = record.value("earlier_births", std::vector<int64_t>());
  ReadClock(record.value("clock", Json::object()), *sandbox);
  sandbox->ancestors = record.value("ancestors", std::map<std::string, int64_t>());
  sandbox->birth_note = record.value("birth_note", Json());
  sandbox->state = row.state == "ended" ? Sandbox::State::kEnded : Sandbox::State::kStopped;
  if (row.state == "running") sandbox->reason = "cloched died while it ran";
  sys::PeerIdentity peer;
  peer.uid = row.owner;
  peer.gid = record.value("gid", 0u);
  // Planned anew at its next start; until then budgets and times are those asked for.
  if (auto planned = Plan(sandbox->request, FactsOf(peer), row.id))
    sandbox->planned = std::move(*planned);
  else
    sandbox->planned.limits = WithDefaults(sandbox->request.limits, facts());
  if (sandbox->planned.plan.in_memory && sandbox->state == Sandbox::State::kStopped) {
    sandbox->state = Sandbox::State::kEnded;
    sandbox->reason = "its changes were kept in memory and went with cloched";
  }
  return sandbox;
}

// One record says nothing about the others: it is shown, kept as it is, and can be removed.
std::shared_ptr<Sandbox> Engine::SetAside(const Registry::Row& row, const std::string& why) {
  auto sandbox = MakeSandbox(row.id, row.owner);
  sandbox->name = row.name;
  sandbox->keep = true;
  sandbox->state = Sandbox::State::kUnreadable;
  sandbox->reason = "its record cannot be read: " + why;
  const auto record = nlohmann::json::parse(row.record, nullptr, false);
  sandbox->created = {};
  if (record.is_object() && record.contains("created") && record["created"].is_number()) try {
      sandbox->created = TimeAt(record["created"].get<double>());
    } catch (const std::out_of_range&) {
      // as old as time
    }
  return sandbox;
}

Status Engine::Load() {
  ASSIGN_OR_RETURN(auto rows, registry_.All());
  for (const Registry::Row& row : rows) {
    if (row.state == "coming" || row.state == "going") {
      asio::co_spawn(io_, RemoveRest(row.id), kDetached);
      continue;
    }
    std::string why;
    try {
      if (auto sandbox = ReadRow(row)) {
        sandboxes_[row.id] = *sandbox;
        // If it cannot be written down now, the next start comes to the same conclusion.
        if (row.state == "running") (void)Save(**sandbox);
        continue;
      } else {
        why = sandbox.error().message;
      }
    } catch (const std::exception& error) {
      why = error.what();
    }
    sandboxes_[row.id] = SetAside(row, why);
  }
  RemoveLogs("");
  RemoveAuthorities("");
  return {};
}

Json Engine::UnreadableJson(const Client& client) const {
  Json list = Json::array();
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->owner == client.peer.uid && sandbox->state == Sandbox::State::kUnreadable)
      list.push_back({{"id", id},
                      {"name", sandbox->name},
                      {"reason", sandbox->reason},
                      {"remove", "cloche rm " + id}});
  for (const auto& [id, snapshot] : snapshots_)
    if (snapshot.owner == client.peer.uid && snapshot.kind == SnapshotKind::kUnreadable)
      list.push_back({{"id", id},
                      {"name", ""},
                      {"reason", snapshot.note},
                      {"remove", "cloche snapshots rm " + id}});
  return list;
}

}  // namespace cloche::daemon
