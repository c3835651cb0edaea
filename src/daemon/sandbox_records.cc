#include <fmt/core.h>

#include <stdexcept>

#include "daemon/sandbox_table.h"
#include "policy/environment.h"
#include "policy/stored_request.h"
#include "sys/file.h"

// Writes sandboxes to disk, and finds them at the next start.
namespace cloche::daemon {
namespace {

std::chrono::system_clock::time_point TimeAt(double seconds) {
  if (!(seconds >= 0 && seconds < 1e10)) throw std::out_of_range("it holds an invalid time");
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::duration<double>(seconds)));
}

}  // namespace

void LiveOn(SandboxRequest& request) {
  if (!request.limits.life) request.limits.life = 0;
}

Registry::Row SandboxTable::RowOf(const Sandbox& sandbox) const {
  return RowOf(sandbox, sandbox.state(), sandbox.reason(), sandbox.history());
}

Registry::Row SandboxTable::RowOf(const Sandbox& sandbox, Sandbox::State state,
                                  const std::string& reason, const History& history) const {
  static constexpr const char* kStates[] = {"coming", "running", "stopped",
                                            "ended",  "going",   "unreadable"};
  Json record = {
      {"request", StoreRequest(sandbox.terms().request())},
      {"created",
       std::chrono::duration<double>(sandbox.lifetime().created.time_since_epoch()).count()},
      {"lives_since",
       std::chrono::duration<double>(sandbox.lifetime().counted_from.time_since_epoch()).count()},
      {"reason", reason},
      {"commands", sandbox.commands().started()},
      {"gid", sandbox.terms().planned().plan.spec.caller.gid},
      {"groups", sandbox.terms().planned().plan.spec.caller.groups},
      {"head", history.head()},
      {"head_is_current", history.is_current()},
      {"origin", history.origin()},
      {"project_file_digest", sandbox.terms().project_file_digest()}};
  sandbox.birth().ToRecord(record);
  return {sandbox.id, sandbox.terms().name(), sandbox.owner, kStates[static_cast<int>(state)],
          record.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Result<std::shared_ptr<Sandbox>> SandboxTable::ReadRow(const Registry::Row& row) {
  if (row.state != "running" && row.state != "stopped" && row.state != "ended")
    return Fail(Code::kInvalid, "this version does not know the state " + row.state);
  const auto record = nlohmann::json::parse(row.record);
  ASSIGN_OR_RETURN(SandboxRequest request, ReadStoredRequest(record.at("request")));
  request.name = row.name;
  LiveOn(request);
  Beginning beginning;
  beginning.terms = Terms(std::move(request), true);
  beginning.lifetime.created = TimeAt(record.value("created", 0.0));
  beginning.lifetime.counted_from =
      TimeAt(record.value("lives_since", record.value("created", 0.0)));
  beginning.commands_started = record.value("commands", uint64_t{0});
  beginning.history = History(record.value("head", ""), record.value("head_is_current", false),
                              record.value("origin", Json()));
  beginning.birth = Birth::FromRecord(
      record, std::chrono::nanoseconds(beginning.lifetime.created.time_since_epoch()).count());
  auto sandbox = Make(row.id, row.owner, std::move(beginning));
  CLOCHE_TRY(sandbox->Transition(
      row.state == "ended" ? Sandbox::State::kEnded : Sandbox::State::kStopped,
      row.state == "running" ? "cloched died while it ran" : record.value("reason", "")));
  sys::PeerIdentity peer;
  peer.uid = row.owner;
  peer.gid = record.value("gid", 0u);
  // Planned again at its next start; until then the requested budgets and times apply.
  Terms& terms = sandbox->terms();
  const Limits& asked = terms.request().limits;
  if (auto planned = machine_.Plan(terms.request(), machine_.FactsOf(peer), row.id))
    terms.SetPlan(std::move(*planned));
  else
    terms.SetLimits(asked, WithDefaults(asked, machine_.facts()));
  if (sandbox->terms().planned().plan.in_memory && sandbox->state() == Sandbox::State::kStopped)
    CLOCHE_TRY(sandbox->Transition(Sandbox::State::kEnded,
                                   "its changes were kept in memory and went with cloched"));
  return sandbox;
}

// A broken record does not affect the others: it is shown, kept as it is, and can be removed.
std::shared_ptr<Sandbox> SandboxTable::SetAside(const Registry::Row& row, const std::string& why) {
  const auto record = nlohmann::json::parse(row.record, nullptr, false);
  SandboxRequest unknown;
  unknown.name = row.name;
  Beginning beginning;
  beginning.terms = Terms(std::move(unknown), true);
  beginning.lifetime.created = {};
  if (record.is_object() && record.contains("created") && record["created"].is_number()) try {
      beginning.lifetime.created = TimeAt(record["created"].get<double>());
    } catch (const std::out_of_range&) {
      // then it counts as infinitely old
    }
  auto sandbox = Make(row.id, row.owner, std::move(beginning));
  (void)sandbox->Transition(Sandbox::State::kUnreadable, "its record cannot be read: " + why);
  return sandbox;
}

Result<std::vector<std::string>> SandboxTable::Load() {
  std::vector<std::string> rests;
  ASSIGN_OR_RETURN(auto rows, registry_.All());
  for (const Registry::Row& row : rows) {
    if (row.state == "coming" || row.state == "going") {
      rests.push_back(row.id);
      continue;
    }
    std::string why;
    try {
      if (auto sandbox = ReadRow(row)) {
        sandboxes_[row.id] = *sandbox;
        // If this cannot be written now, the next start reaches the same conclusion.
        if (row.state == "running") (void)Save(**sandbox);
        continue;
      } else {
        why = sandbox.error().message;
      }
    } catch (const nlohmann::json::parse_error&) {
      why = "it is not valid JSON";
    } catch (const std::exception& error) {
      why = error.what();
    }
    sandboxes_[row.id] = SetAside(row, why);
  }
  return rests;
}

Json SandboxTable::UnreadableJson(const Client& client) const {
  Json list = Json::array();
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->owner == client.peer.uid && sandbox->state() == Sandbox::State::kUnreadable)
      list.push_back({{"id", id},
                      {"name", sandbox->terms().name()},
                      {"reason", sandbox->reason()},
                      {"remove", "cloche rm " + id}});
  return list;
}

}  // namespace cloche::daemon
