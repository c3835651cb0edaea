#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <filesystem>

#include "daemon/engine.h"
#include "policy/environment.h"
#include "sys/file.h"

// Sandboxes as they are on disk, and found again at the next start.
namespace cloche::daemon {
namespace {

std::chrono::system_clock::time_point TimeAt(double seconds) {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::duration<double>(seconds)));
}

}  // namespace

void LiveOn(SandboxRequest& request) {
  if (!request.limits.life) request.limits.life = 0;
}

Registry::Row Engine::RowOf(const Sandbox& sandbox) const {
  static constexpr const char* kStates[] = {"coming", "running", "stopped", "ended", "going"};
  Json record = {
      {"request", sandbox.request_json},
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
      {"moved", sandbox.moved},
      {"guarded", sandbox.guarded},
      {"earlier_births", sandbox.earlier_births},
      {"ancestors", sandbox.ancestors},
      {"birth_note", sandbox.birth_note},
      {"project_file_digest", sandbox.project_file_digest}};
  return {sandbox.id, sandbox.name, sandbox.owner, kStates[static_cast<int>(sandbox.state)],
          record.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Status Engine::Save(const Sandbox& sandbox) {
  return sandbox.keep ? registry_.Put(RowOf(sandbox)) : Status();
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

Status Engine::Load() {
  ASSIGN_OR_RETURN(auto rows, registry_.All());
  for (const Registry::Row& row : rows) {
    if (row.state == "coming" || row.state == "going") {
      asio::co_spawn(io_, RemoveRest(row.id), asio::detached);
      continue;
    }
    auto record = nlohmann::json::parse(row.record, nullptr, false);
    if (record.is_discarded() || !record.contains("request"))
      return Fail(Code::kUnavailable, "read registry: the record of " + row.id + " is damaged",
                  "restore the registry from a backup, or move the state directory away");
    auto request = ParseSandboxRequest(record["request"]);
    if (!request) return std::unexpected(request.error());
    auto sandbox = MakeSandbox(row.id, row.owner);
    sandbox->name = row.name;
    sandbox->keep = true;
    sandbox->request_json = record["request"];
    sandbox->request = std::move(*request);
    sandbox->PinProjectFile(sandbox->request.project_file);
    LiveOn(sandbox->request);
    sandbox->created = TimeAt(record.value("created", 0.0));
    sandbox->lives_since = TimeAt(record.value("lives_since", record.value("created", 0.0)));
    sandbox->reason = record.value("reason", "");
    sandbox->commands_started = record.value("commands", uint64_t{0});
    sandbox->head = record.value("head", "");
    sandbox->head_is_current = record.value("head_is_current", false);
    sandbox->origin = record.value("origin", Json());
    sandbox->birth_ns =
        record.value("birth_ns", static_cast<int64_t>(record.value("created", 0.0) * 1e9));
    sandbox->moved = record.value("moved", std::vector<std::string>());
    sandbox->guarded = record.value("guarded", std::vector<std::string>());
    sandbox->earlier_births = record.value("earlier_births", std::vector<int64_t>());
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
    sandboxes_[row.id] = sandbox;
    if (row.state == "running") CLOCHE_TRY(Save(*sandbox));
  }
  RemoveLogs("");
  RemoveAuthorities("");
  return {};
}

}  // namespace cloche::daemon
