#include "daemon/commands.h"

#include <fmt/core.h>

#include "base/text.h"
#include "daemon/authorities.h"
#include "daemon/network_grants.h"
#include "daemon/secrets.h"
#include "policy/environment.h"

namespace cloche::daemon {
namespace {

// Whoever waits goes on however this ends.
class Dividing {
 public:
  Dividing(asio::io_context& io, Sandbox& sandbox) : sandbox_(sandbox) {
    sandbox_.dividing = std::make_shared<Event>(io);
  }
  ~Dividing() { std::exchange(sandbox_.dividing, nullptr)->Set(); }
  Dividing(const Dividing&) = delete;

 private:
  Sandbox& sandbox_;
};

}  // namespace

Status CheckAgent(const Sandbox& sandbox, const CommandRequest& request) {
  if (request.agent.empty() || sandbox.request.agent.empty() ||
      request.agent == sandbox.request.agent)
    return {};
  return Fail(
      Code::kConflict,
      fmt::format("run in {}: it serves agent {}, not {}", sandbox.id,
                  EscapeForTerminal(sandbox.request.agent), EscapeForTerminal(request.agent)),
      "make a sandbox for this agent: cloche new --agent NAME");
}

Command ImageOf(const CommandRequest& request, const Sandbox& sandbox) {
  Command image;
  image.argv = request.argv;
  image.cwd = request.cwd.empty() ? sandbox.planned.cwd : request.cwd;
  if (request.cwd_optional && (!sandbox.request.base_directory.empty() || sandbox.request.declared))
    image.other_cwd = sandbox.planned.cwd;
  const std::vector<std::string>& env = request.env.empty() ? sandbox.request.env : request.env;
  for (const std::string& variable : env)
    if (!variable.starts_with("PWD=") && !variable.starts_with("CLOCHE_"))
      image.env.push_back(variable);
  if (image.other_cwd.empty()) image.env.push_back("PWD=" + image.cwd);
  image.env.push_back("CLOCHE_SANDBOX=" + sandbox.id);
  AddNetworkVariables(sandbox, image.env);
  AddSecretVariables(sandbox, image.env);
  AddTrustVariables(sandbox, request.env_names, image.env);
  image.pty = request.pty.has_value();
  image.wants_stdin = request.wants_stdin;
  if (request.pty) {
    image.rows = request.pty->rows;
    image.columns = request.pty->columns;
  }
  image.open_files = sandbox.planned.limits.files.value_or(0);
  // Without a cgroup the number of processes is the user's own limit, counted per user namespace.
  if (sandbox.planned.plan.limits.pids == 0)
    image.processes = sandbox.planned.limits.pids.value_or(0);
  return image;
}

void MarkFull(const Sandbox& sandbox, uint32_t flags, CommandRun& command) {
  const KernelLimits& limits = sandbox.planned.plan.limits;
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
  const Limits& limits = sandbox.planned.limits;
  if (sandbox.network) sandbox.network->told.clear();
  request.env = FilterEnvironment(request.env, request.env_names).kept;
  if (!request.env.empty())
    request.env = JoinEnvironments({request.env, request.env_names},
                                   {sandbox.request.env, sandbox.request.env_names});
  uint32_t number = static_cast<uint32_t>(sandbox.commands_started + 1);
  // Nobody asked for a limit: what is relayed to a client is never cut, or `... > file` would be.
  uint64_t output = watcher && !sandbox.request.limits.output
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
                                              sandbox.planned.limits.output.value_or(0),
                                              logs_.For(sandbox.id, sandbox.owner, number));
  command->on_finish = [this, owner = sandbox.owner, ended = command.get()] {
    logs_.Ended(owner, *ended);
  };
  return command;
}

// Where it fails the command shares a group, and the end of the others. The limit holds all the
// same.
Task<void> Commands::MakeWay(std::shared_ptr<Sandbox> sandbox) {
  while (auto going = sandbox->dividing) co_await going->Wait();
  if (!sandbox->NeedsMemoryGroup()) co_return;
  const Dividing dividing(io_, *sandbox);
  const uint64_t launch = sandbox->launches;
  SpawnRequest request{};
  request.op = SpawnOp::kDivide;
  sandbox->id.copy(request.sandbox, sizeof request.sandbox - 1);
  request.argument = sandbox->memory_groups().next();
  const SpawnAnswer answer = co_await Spawn::Finish(spawn_.Send(request));
  if (answer.reply.value == 0 && sandbox->launches == launch) sandbox->EnterMemoryGroup();
}

void Commands::LimitWallTime(const std::shared_ptr<Sandbox>& sandbox,
                             const std::shared_ptr<CommandRun>& command) {
  double seconds = command->request().wall.value_or(sandbox->planned.limits.wall.value_or(0));
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
    // Alone, it takes everything it left behind with it.
    if (sandbox->running_commands() == 1 && sandbox->services.empty())
      sandbox->KillAll();
    else
      sandbox->Signal(command->number(), 9);
  });
}

Task<void> Commands::NoteFull(std::shared_ptr<Sandbox> sandbox,
                              std::shared_ptr<CommandRun> command) {
  if (command->exit_status() == 0 || !sandbox->runs()) co_return;
  SpawnAnswer answer = co_await spawn_.Call(SpawnOp::kRoom, sandbox->id);
  MarkFull(*sandbox, answer.reply.flags, *command);
}

}  // namespace cloche::daemon
