#include "daemon/lifecycle.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "base/text.h"
#include "daemon/canaries.h"
#include "daemon/turn.h"
#include "policy/environment.h"
#include "policy/print.h"
#include "sys/file.h"

namespace cloche::daemon {

Task<Result<Json>> Lifecycle::Explain(SandboxRequest request, Client client) {
  CLOCHE_CO_TRY(parts_.secrets.Grant(request.network, client.peer.uid));
  const auto rules = parts_.networks.Compile(request.network, client.peer.uid);
  if (!rules) co_return std::unexpected(rules.error());
  DrawDecoys(request.canaries);
  auto planned = parts_.machine.Plan(request, parts_.machine.FactsOf(client.peer), "sb_explain");
  if (!planned) co_return std::unexpected(planned.error());
  if (NeedsAuthority(*rules))
    planned->differences.push_back(
        {"an authority of the sandbox's own is believed, and covers the bundle of certificates",
         "rules about requests in HTTPS need TLS to be ended at the border"});
  Json explained = {{"id", planned->plan.sandbox_id},
                    {"text", PlannedToText(*planned)},
                    {"differences_text", DifferencesToText(*planned)}};
  explained.update(PlannedToJson(*planned));
  co_return explained;
}

// Checks the request, and draws what only we choose: placeholders, decoys, rule numbers.
Status Lifecycle::Prepare(SandboxRequest& request, bool keep, const Client& client) {
  std::vector<std::string> names;
  if (!request.name.empty()) names.push_back(request.name);
  CLOCHE_TRY(parts_.table.CheckNewNames(names, 1, client));
  if (!keep && (request.snapshot_commands || request.snapshot_every))
    return Fail(Code::kInvalid, "auto_snapshot: a disposable sandbox is not saved",
                "make one that stays: cloche new --auto-snapshot ...");
  if (!request.services.empty())
    return Fail(Code::kInvalid, "services: their data is not in the sandbox yet",
                "copy it first, then POST /v1/sandboxes/ID/services; cloche new --with-service "
                "does it");
  for (SecretGrant& grant : request.network.secrets) grant.id = grant.placeholder = "";
  request.network.redacted.clear();
  CLOCHE_TRY(parts_.secrets.Grant(request.network, client.peer.uid));
  CLOCHE_TRY(parts_.networks.Compile(request.network, client.peer.uid));
  NumberRules(request.network);
  DrawDecoys(request.canaries);
  request.env = FilterEnvironment(request.env, request.env_names).kept;
  if (keep) LiveOn(request);
  return {};
}

Task<Result<std::shared_ptr<Sandbox>>> Lifecycle::Create(SandboxRequest request, bool keep,
                                                         Client client, StepTimer* steps,
                                                         FirstCommand* first) {
  CLOCHE_CO_TRY(Prepare(request, keep, client));
  Beginning beginning;
  beginning.terms = Terms(std::move(request), keep);
  auto sandbox = parts_.table.Make(NewId("sb_"), client.peer.uid, std::move(beginning));
  const Turn turn(sandbox);  // requests to remove or stop it wait until it is made
  // Recorded before its files exist: after a crash in between, Load removes what is half-made.
  CLOCHE_CO_TRY(parts_.table.Save(*sandbox));
  parts_.table.Add(sandbox);  // before the first wait: the name is taken from here on
  // Its own work must not begin in the tick of its birth; without a command, the launch is part of
  // the wait. A disposable sandbox is never compared with reality.
  if (keep && first) co_await PassTick(io_, sandbox->birth().at_ns());
  Status launched = co_await parts_.launcher.Launch(sandbox, client, steps, first);
  if (keep) co_await PassTick(io_, sandbox->birth().at_ns());
  if (launched) launched = parts_.table.Save(*sandbox);
  if (!launched) {
    parts_.table.Erase(sandbox->id);
    if (sandbox->terms().keep()) (void)parts_.table.registry().Remove(sandbox->id);
    const bool was_built = sandbox->has_files();
    (void)sandbox->Transition(Sandbox::State::kEnded, "it could not be made");
    if (was_built) co_await parts_.spawn.Call(sandbox->id, ask::Discard());
    co_return std::unexpected(launched.error());
  }
  if (keep && HasProject(sandbox->terms().request())) parts_.births.Take(sandbox, client);
  co_return sandbox;
}

Status Lifecycle::CheckMayRun(Sandbox& sandbox, const CommandRequest& request) {
  const Limits& limits = sandbox.terms().limits();
  CLOCHE_TRY(parts_.launcher.EndIfOutlived(sandbox));
  if (sandbox.state() == Sandbox::State::kEnded || sandbox.state() == Sandbox::State::kGoing)
    return Fail(Code::kConflict,
                fmt::format("run in {}: it has ended ({})", sandbox.id, sandbox.reason()),
                "make a new sandbox: cloche new");
  CLOCHE_TRY(CheckAgent(sandbox, request));
  if (uint64_t budget = limits.commands.value_or(0);
      budget != 0 && sandbox.commands().started() >= budget)
    return Fail(Code::kExhausted,
                fmt::format("run in {}: its budget of {} commands is used up", sandbox.id, budget),
                "make a new sandbox, or a larger budget with --commands");
  return {};
}

// The command runs anyway: it may repair them.
void Lifecycle::TellOfServices(const Sandbox& sandbox, CommandRun& command) {
  for (const auto& service : sandbox.services().all())
    if (service->state != Service::State::kReady)
      command.Tell(FrameType::kNotice,
                   {{"kind", "service"},
                    {"message", fmt::format("service {} does not run: {}; see cloche services {}",
                                            service->request.name, service->reason, sandbox.id)}});
}

Task<Result<std::shared_ptr<CommandRun>>> Lifecycle::Start(std::shared_ptr<Sandbox> sandbox,
                                                           CommandRequest request, Client client,
                                                           Watcher* watcher, StepTimer steps) {
  const Turn turn = co_await TakeTurn(sandbox);
  CLOCHE_CO_TRY(CheckMayRun(*sandbox, request));
  const bool woken = sandbox->state() == Sandbox::State::kStopped;
  CLOCHE_CO_TRY(co_await parts_.launcher.Wake(sandbox, client, &steps));
  CLOCHE_CO_TRY(co_await parts_.networks.RenewAuthority(sandbox, client));
  if (sandbox->terms().request().snapshot_commands && sandbox->terms().keep()) {
    SnapshotRequest unnamed;
    auto saved = co_await parts_.time_travel.Save(sandbox, std::move(unnamed),
                                                  SnapshotKind::kCommand, &steps);
    if (!saved) co_return std::unexpected(saved.error());
  }
  auto command = parts_.commands.Make(*sandbox, std::move(request), watcher, std::move(steps));
  co_await parts_.commands.MakeWay(sandbox);
  CLOCHE_CO_TRY(sandbox->Start(command, ImageOf(command->request(), *sandbox)));
  if (woken) TellOfServices(*sandbox, *command);
  parts_.commands.LimitWallTime(sandbox, command);
  // The count must be on disk only if it is a budget: a sync costs milliseconds.
  if (sandbox->terms().limits().commands.value_or(0) != 0)
    CLOCHE_CO_TRY(parts_.table.Save(*sandbox));
  co_return command;
}

Task<Status> Lifecycle::Stop(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended) {
  parts_.reader.EndAll(*sandbox,
                       {Code::kConflict, "look at " + sandbox->id + ": it was stopped meanwhile",
                        "ask again: cloche diff " + sandbox->id});
  const Turn turn = co_await TakeTurn(sandbox);
  if (sandbox->state() == Sandbox::State::kGoing || sandbox->state() == Sandbox::State::kUnreadable)
    co_return Status{};
  co_return co_await parts_.launcher.Stop(sandbox, std::move(reason), ended);
}

Task<Result<Json>> Lifecycle::Discard(std::shared_ptr<Sandbox> sandbox,
                                      std::shared_ptr<CommandRun> command) {
  parts_.reader.EndAll(*sandbox,
                       {Code::kNotFound, "look at " + sandbox->id + ": it was removed meanwhile",
                        "cloche ls shows the ones there are"});
  const Turn turn = co_await TakeTurn(sandbox);
  if (sandbox->state() == Sandbox::State::kGoing)
    co_return Fail(Code::kNotFound, "remove " + sandbox->id + ": it is being removed already",
                   "cloche ls shows the ones there are");
  bool had_processes = sandbox->runs();
  CLOCHE_CO_TRY(sandbox->Transition(Sandbox::State::kGoing, "removed"));
  (void)parts_.table.Save(*sandbox);  // a full disk must not prevent removal
  parts_.table.Erase(sandbox->id);
  const ask::Discard discard{.count = command && had_processes};
  SpawnAnswer answer = co_await parts_.spawn.Call(sandbox->id, discard);
  if (command) MarkFull(*sandbox, answer.reply.flags, *command);
  sandbox->Detach("its sandbox was removed");
  if (sandbox->border().network()) sandbox->border().network()->End(sandbox->terms().keep());
  if (sandbox->terms().keep()) {
    co_await parts_.time_travel.DropAll(sandbox);
    if (answer.reply.value == 0) parts_.table.RemoveRow(sandbox->id);
    parts_.logs.Remove(sandbox->id);
    parts_.networks.RemoveAuthority(sandbox->id);
  }
  if (answer.reply.value != 0) co_return std::unexpected(parts_.machine.Explain(answer));
  co_return Json{{"added", answer.reply.added},
                 {"changed", answer.reply.changed},
                 {"deleted", answer.reply.deleted},
                 {"bytes", answer.reply.changed_bytes},
                 {"kept", false}};
}

void Lifecycle::InitExited(const SpawnReply& event) {
  auto found = parts_.table.all().find(event.sandbox);
  if (found == parts_.table.all().end()) return;
  std::shared_ptr<Sandbox> sandbox = found->second;
  if (!sandbox->runs() || sandbox->stopping()) return;
  // Nobody asked for it: the OOM killer took init, or something inside found a way.
  std::string why = "its init ended unexpectedly";
  if (sandbox->resources().WasOutOfMemory()) why = "killed: memory limit";
  (void)sandbox->Transition(Sandbox::State::kStopped, why);
  sandbox->Detach(why);
  if (!sandbox->terms().keep()) parts_.table.Erase(sandbox->id);
  (void)parts_.table.Save(*sandbox);
}

void Lifecycle::SpawnLost() {
  spawn_lost_ = true;
  auto all = parts_.table.all();
  for (auto& [id, sandbox] : all) {
    if (!sandbox->runs()) continue;
    (void)sandbox->Transition(Sandbox::State::kStopped, "cloche-spawn died while it ran");
    sandbox->Detach(sandbox->reason());
    (void)parts_.table.Save(*sandbox);
    if (!sandbox->terms().keep()) parts_.table.Erase(id);
  }
  io_.stop();  // the next CLI call starts both again
}

void Lifecycle::Close() {
  closed_ = true;
  for (auto& [id, sandbox] : parts_.table.all()) {
    if (!sandbox->runs()) continue;
    (void)sandbox->Transition(Sandbox::State::kStopped, "cloched was stopped");
    (void)parts_.table.Save(*sandbox);
    sandbox->Detach(sandbox->reason());
  }
  parts_.secrets.KeepCounts();
}

void Lifecycle::EndLater(const std::string& id, const char* limit, const std::string& reason) {
  auto found = parts_.table.all().find(id);
  if (found == parts_.table.all().end() || !found->second->runs()) return;
  for (const auto& [number, command] : found->second->commands().all())
    command->MarkLimit({limit, 0, "killed: " + reason});
  StopOnce(found->second, reason, true);
}

void Lifecycle::StopLater(std::shared_ptr<Sandbox> sandbox, std::string reason) {
  StopOnce(std::move(sandbox), std::move(reason), false);
}

void Lifecycle::StopOnce(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended) {
  if (!to_be_stopped_.insert(sandbox->id).second) return;
  asio::co_spawn(
      io_,
      [](Lifecycle& self, std::shared_ptr<Sandbox> box, std::string why, bool end) -> Task<void> {
        co_await self.Stop(box, why, end);
        self.to_be_stopped_.erase(box->id);
      }(*this, std::move(sandbox), std::move(reason), ended),
      kDetached);
}

Task<Status> Lifecycle::Wake(std::shared_ptr<Sandbox> sandbox, Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  co_return co_await parts_.launcher.Wake(sandbox, client, nullptr);
}

// Files never changed here show reality, but the kernel may have cached lookups: a new mount drops
// those. Files that changed on both sides stay as they are here.
Task<Result<Json>> Lifecycle::Refresh(std::shared_ptr<Sandbox> sandbox, Client client) {
  if (sandbox->commands().running() > 0)
    co_return Fail(Code::kConflict, "refresh " + sandbox->id + ": a command runs in it",
                   "wait for it, or end it: cloche stop " + sandbox->id);
  const int64_t now = sys::RealNanos();
  co_await PassTick(io_, now);
  auto stale = co_await parts_.reader.Staleness(sandbox, client, true);
  if (!stale) co_return stale;
  Status stopped = co_await Stop(sandbox, "refreshed");
  if (!stopped) co_return std::unexpected(stopped.error());
  sandbox->birth().Refresh(now, *stale);
  stale->erase("guarded");
  CLOCHE_CO_TRY(parts_.table.Save(*sandbox));
  parts_.births.Take(sandbox, client);
  (*stale)["moved_before"] = sandbox->birth().moved();
  co_return stale;
}

}  // namespace cloche::daemon
