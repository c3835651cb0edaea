#include "daemon/launcher.h"

#include <fmt/core.h>

#include <chrono>

#include "base/text.h"
#include "daemon/turn.h"
#include "sys/process.h"

namespace cloche::daemon {
namespace {

constexpr int kMostLaunches = 3;

}  // namespace

Status Launcher::Plan(Sandbox& sandbox, const Client& client) {
  ASSIGN_OR_RETURN(Planned planned, machine_.Plan(sandbox.terms().request(),
                                                  machine_.FactsOf(client.peer), sandbox.id));
  if (planned.plan.in_memory &&
      (sandbox.terms().request().snapshot_commands || sandbox.terms().request().snapshot_every))
    return Fail(Code::kUnavailable, "make sandbox: what is kept in memory cannot be saved",
                "leave out --auto-snapshot, or --in-memory and --inodes (rootless also --disk)");
  sandbox.terms().SetPlan(std::move(planned));
  return {};
}

// Without a guard, the first command goes along with the launch, which saves a round trip.
Task<Result<SpawnAnswer>> Launcher::Build(std::shared_ptr<Sandbox> sandbox, Client client,
                                          StepTimer* steps, FirstCommand* first, bool guarded) {
  for (int attempt = 1;; ++attempt) {
    CLOCHE_CO_TRY(Plan(*sandbox, client));
    if (first && !first->command)
      first->command = commands_.Make(*sandbox, std::move(first->request), first->watcher, {});
    if (steps) steps->Mark("plan");
    const std::string bytes = EncodePlan(sandbox->terms().planned().plan);
    const sys::Fd memory(sys::SealedMemfd("plan", bytes.data(), bytes.size()));
    if (!memory.valid()) co_return Fail(Code::kInternal, "make launch plan: out of memory");
    // No initializer list: g++ 12 miscompiles one across co_await.
    std::vector<int> fds(1, memory.get());
    fds.push_back(client.socket);
    sys::Fd image;
    if (first && !guarded) {
      const std::string text = EncodeCommand(ImageOf(first->command->request(), *sandbox));
      image = sys::Fd(sys::SealedMemfd("command", text.data(), text.size()));
      if (!image.valid()) co_return Fail(Code::kInternal, "make command image: out of memory");
      fds.push_back(image.get());
    }
    SpawnAnswer answer = co_await spawn_.Call(sandbox->id, ask::Launch(), fds);
    if (answer.reply.value == 0 && answer.fds.size() < 3)
      co_return Fail(Code::kInternal, "start a sandbox: cloche-spawn sent no descriptors");
    if (answer.reply.value == 0) co_return answer;
    // A mount that has just come or gone invalidates a plan: retry with the machine as it is.
    if (attempt == kMostLaunches || !machine_.HasChanged())
      co_return std::unexpected(machine_.Explain(answer));
    machine_.FreshFacts();
  }
}

Task<Status> Launcher::Launch(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps,
                              FirstCommand* first) {
  if (spawn_.lost())
    co_return Fail(Code::kUnavailable, "start a sandbox: cloche-spawn died",
                   "stop cloched; the next command starts it again");
  // Nothing runs before the border is guarded.
  const bool guarded = !sandbox->terms().request().network.rules.empty() ||
                       !sandbox->terms().request().signing.keys.empty();
  auto answer = co_await Build(sandbox, client, steps, first, guarded);
  if (!answer) co_return std::unexpected(answer.error());
  if (steps) {
    const SpawnReply& reply = answer->reply;
    auto spent = [&](SpawnTiming step) { return reply.timing_us[step] / 1000.0; };
    steps->Add((reply.flags & kFlagFromPool) ? "take prepared sandbox" : "build sandbox",
               spent(kTimePrepare));
    steps->Add("set limits", spent(kTimeLimits) + spent(kTimeHandOver));
    steps->Mark("launch, whole");
  }
  if (first && !guarded) sandbox->Adopt(first->command);
  sandbox->Attach(std::move(*answer), machine_.cgroups());
  if (guarded) CLOCHE_CO_TRY(co_await Guard(sandbox, client, first));
  if (guarded && steps) steps->Mark("network");
  if (first) commands_.LimitWallTime(sandbox, first->command);
  co_return Status{};
}

Task<Status> Launcher::Guard(std::shared_ptr<Sandbox> sandbox, Client client, FirstCommand* first) {
  Status opened;
  if (!sandbox->terms().request().network.rules.empty())
    opened = co_await networks_.Open(sandbox, client);
  if (opened && !sandbox->terms().request().signing.keys.empty())
    opened = co_await signing_.Open(sandbox, client);
  if (opened && first)
    opened = sandbox->Start(first->command, ImageOf(first->command->request(), *sandbox));
  if (opened) co_return opened;
  co_await spawn_.Call(sandbox->id, ask::Kill());
  sandbox->Detach("what it was granted could not be opened");
  CLOCHE_CO_TRY(sandbox->Transition(Sandbox::State::kStopped, sandbox->reason()));
  co_return opened;
}

Task<Status> Launcher::Wake(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps) {
  if (sandbox->state() != Sandbox::State::kStopped) co_return Status{};
  CLOCHE_CO_TRY(sandbox->Transition(Sandbox::State::kStarting, sandbox->reason()));
  Status launched = co_await Launch(sandbox, client, steps);
  if (!launched) {
    (void)sandbox->Transition(Sandbox::State::kStopped, sandbox->reason());
    co_return launched;
  }
  CLOCHE_CO_TRY(table_.Save(*sandbox));
  if (!sandbox->terms().request().services.empty()) {
    co_await supervisor_.StartAll(sandbox);
    if (steps) steps->Mark("services");
  }
  co_return Status{};
}

Task<Status> Launcher::Stop(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended) {
  if (sandbox->runs()) {
    (void)sandbox->Transition(Sandbox::State::kRunning, reason);
    SpawnAnswer answer;
    {
      // Its clients get our reason, not that init is gone.
      const Sandbox::Stopping stopping(*sandbox);
      answer = co_await spawn_.Call(sandbox->id, ask::Kill());
    }
    if (answer.reply.value != 0 && !spawn_.lost())
      co_return Fail(Code::kInternal,
                     fmt::format("stop {}: {}", sandbox->id, answer.reply.operation));
    sandbox->Detach(reason);
  }
  CLOCHE_CO_TRY(
      sandbox->Transition(ended ? Sandbox::State::kEnded : Sandbox::State::kStopped, reason));
  if (!sandbox->terms().keep()) table_.Erase(sandbox->id);
  co_return table_.Save(*sandbox);
}

Status Launcher::EndIfOutlived(Sandbox& sandbox) {
  const double life = sandbox.terms().limits().life.value_or(0);
  if (sandbox.state() != Sandbox::State::kStopped || life <= 0 ||
      sandbox.lifetime().age_s() <= life)
    return {};
  CLOCHE_TRY(sandbox.Transition(Sandbox::State::kEnded, "life limit " + FormatDuration(life)));
  return table_.Save(sandbox);
}

}  // namespace cloche::daemon
