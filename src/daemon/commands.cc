#include "daemon/commands.h"

#include <fmt/core.h>

#include "base/text.h"
#include "daemon/ca_store.h"
#include "daemon/network_grants.h"
#include "daemon/secrets.h"
#include "policy/environment.h"

namespace cloche::daemon {
namespace {

// Reopens the gate on every path.
class ClosedGate {
 public:
  explicit ClosedGate(Gate& gate) : gate_(gate) { gate_.Close(); }
  ~ClosedGate() { gate_.Open(); }
  ClosedGate(const ClosedGate&) = delete;

 private:
  Gate& gate_;
};

}  // namespace

Status CheckAgent(const Sandbox& sandbox, const CommandRequest& request) {
  if (request.agent.empty() || sandbox.terms().request().agent.empty() ||
      request.agent == sandbox.terms().request().agent)
    return {};
  return Fail(Code::kConflict,
              fmt::format("run in {}: it serves agent {}, not {}", sandbox.id,
                          EscapeForTerminal(sandbox.terms().request().agent),
                          EscapeForTerminal(request.agent)),
              "make a sandbox for this agent: cloche new --agent NAME");
}

Command ImageOf(const CommandRequest& request, const Sandbox& sandbox) {
  Command image;
  image.argv = request.argv;
  image.cwd = request.cwd.empty() ? sandbox.terms().planned().cwd : request.cwd;
  if (request.cwd_optional &&
      (!sandbox.terms().request().base_directory.empty() || sandbox.terms().request().declared))
    image.other_cwd = sandbox.terms().planned().cwd;
  const std::vector<std::string>& env =
      request.env.empty() ? sandbox.terms().request().env : request.env;
  for (const std::string& variable : env)
    if (!variable.starts_with("PWD=") && !variable.starts_with("CLOCHE_"))
      image.env.push_back(variable);
  if (image.other_cwd.empty()) image.env.push_back("PWD=" + image.cwd);
  image.env.push_back("CLOCHE_SANDBOX=" + sandbox.id);
  AddNetworkVariables(sandbox, image.env);
  AddSecretVariables(sandbox, image.env);
  AddCaVariables(sandbox, request.env_names, image.env);
  image.pty = request.pty.has_value();
  image.wants_stdin = request.wants_stdin;
  if (request.pty) {
    image.rows = request.pty->rows;
    image.columns = request.pty->columns;
  }
  image.open_files = sandbox.terms().limits().files.value_or(0);
  // Without a cgroup, RLIMIT_NPROC limits processes; it is counted per user namespace.
  if (sandbox.terms().planned().plan.limits.pids == 0)
    image.processes = sandbox.terms().limits().pids.value_or(0);
  return image;
}

void MarkFull(const Sandbox& sandbox, uint32_t flags, CommandRun& command) {
  const KernelLimits& limits = sandbox.terms().planned().plan.limits;
  if ((flags & kFlagFilesFull) != 0)
    command.MarkLimit({"inodes", static_cast<double>(limits.inodes),
                       fmt::format("limit of {} files reached", limits.inodes)});
  if ((flags & kFlagShareFull) != 0)
    command.MarkLimit({"share", 0,
                       "your share of the pool, half of it, is used up by your sandboxes; remove "
                       "some: cloche ls, cloche rm NAME"});
  if ((flags & kFlagDiskFull) != 0)
    command.MarkLimit({"disk", static_cast<double>(limits.disk_bytes),
                       fmt::format("disk limit {} reached", FormatBytes(limits.disk_bytes))});
}

std::shared_ptr<CommandRun> Commands::Make(const Sandbox& sandbox, CommandRequest request,
                                           Watcher* watcher, StepTimer steps) {
  const Limits& limits = sandbox.terms().limits();
  if (sandbox.border().network()) sandbox.border().network()->told.clear();
  request.env = FilterEnvironment(request.env, request.env_names).kept;
  if (!request.env.empty())
    request.env =
        JoinEnvironments({request.env, request.env_names},
                         {sandbox.terms().request().env, sandbox.terms().request().env_names});
  uint32_t number = static_cast<uint32_t>(sandbox.commands().started() + 1);
  // If nobody asked for a limit, output relayed to a client is never cut, or `... > file` would be.
  uint64_t output = watcher && !sandbox.terms().request().limits.output
                        ? request.output.value_or(0)
                        : request.output.value_or(limits.output.value_or(0));
  auto command = std::make_shared<CommandRun>(io_, sandbox.id, number, std::move(request), output,
                                              logs_.For(sandbox.id, sandbox.owner, number));
  command->steps() = std::move(steps);
  command->on_finish = [this, owner = sandbox.owner, id = sandbox.id, ended = command.get()] {
    logs_.Ended(owner, *ended);
    flusher_.CommandEnded(id);
  };
  if (watcher) command->Watch(watcher);
  return command;
}

std::shared_ptr<CommandRun> Commands::MakeService(const Sandbox& sandbox, uint32_t number,
                                                  CommandRequest request) {
  auto command = std::make_shared<CommandRun>(io_, sandbox.id, number, std::move(request),
                                              sandbox.terms().limits().output.value_or(0),
                                              logs_.For(sandbox.id, sandbox.owner, number));
  command->on_finish = [this, owner = sandbox.owner, ended = command.get()] {
    logs_.Ended(owner, *ended);
  };
  return command;
}

// If this fails, the command shares a group with others, and dies with them. The limit still holds.
Task<void> Commands::MakeWay(std::shared_ptr<Sandbox> sandbox) {
  co_await sandbox->resources().dividing().Wait();
  if (!sandbox->resources().NeedsGroup()) co_return;
  const ClosedGate dividing(sandbox->resources().dividing());
  const uint64_t launch = sandbox->life();
  const ask::Divide divide{.group = sandbox->resources().next_group()};
  const SpawnAnswer answer = co_await spawn_.Call(sandbox->id, divide);
  if (answer.reply.value == 0 && sandbox->life() == launch) sandbox->resources().EnterGroup();
}

void Commands::LimitWallTime(const std::shared_ptr<Sandbox>& sandbox,
                             const std::shared_ptr<CommandRun>& command) {
  double seconds = command->request().wall.value_or(sandbox->terms().limits().wall.value_or(0));
  if (seconds <= 0) return;
  auto timer = std::make_shared<asio::steady_timer>(
      io_, std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
  command->on_finish = [timer, then = std::move(command->on_finish)] {
    timer->cancel();
    if (then) then();
  };
  timer->async_wait([sandbox, command, seconds](boost::system::error_code error) {
    if (error || command->ended()) return;
    command->MarkLimit({"wall", seconds, "killed: wall time limit " + FormatDuration(seconds)});
    // If it runs alone, kill everything it left behind, too.
    if (sandbox->commands().running() == 1 && sandbox->services().all().empty())
      sandbox->KillAll();
    else
      sandbox->Signal(command->number(), 9);
  });
}

Task<void> Commands::NoteFull(std::shared_ptr<Sandbox> sandbox,
                              std::shared_ptr<CommandRun> command) {
  if (command->exit_status() == 0 || !sandbox->runs()) co_return;
  SpawnAnswer answer = co_await spawn_.Call(sandbox->id, ask::Room());
  MarkFull(*sandbox, answer.reply.flags, *command);
}

Task<std::optional<uint64_t>> Commands::DiskBytes(std::shared_ptr<Sandbox> sandbox) {
  if (!sandbox->runs()) co_return std::nullopt;
  const SpawnAnswer answer = co_await spawn_.Call(sandbox->id, ask::DiskUsage());
  if ((answer.reply.flags & kFlagCounted) == 0) co_return std::nullopt;
  co_return answer.reply.changed_bytes;
}

}  // namespace cloche::daemon
