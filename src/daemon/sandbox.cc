#include "daemon/sandbox.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/text.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

constexpr int kDenialsPerTurn = 32;

const char* StateName(Sandbox::State state) {
  static constexpr const char* kNames[] = {"starting", "running", "stopped",
                                           "ended",    "going",   "unreadable"};
  return kNames[static_cast<int>(state)];
}

// Describes a failure of execve or of the steps before it the way shells do.
Error StartError(const InitMessage& message, const Command& image, int& exit_status) {
  const std::string program = EscapeForTerminal(image.argv.empty() ? "" : image.argv[0]);
  const char* why = strerror(message.value);
  exit_status = 125;
  switch (static_cast<ExecStep>(message.step)) {
    case ExecStep::kDirectory:
      return {Code::kInvalid, fmt::format("enter {}: {}", EscapeForTerminal(image.cwd), why),
              "start from a directory that exists in the sandbox and that you may enter"};
    case ExecStep::kExec:
      exit_status = message.value == ENOENT || message.value == ENOTDIR ? 127 : 126;
      return {message.value == ENOENT ? Code::kNotFound : Code::kInvalid,
              fmt::format("run {}: {}", program, exit_status == 127 ? "command not found" : why),
              exit_status == 127 ? "check the name, or give a path" : "is it an executable file?"};
    case ExecStep::kFork:
      return {Code::kExhausted, fmt::format("start {}: {}", program, why),
              "the sandbox has reached its limit of processes: raise --pids"};
    default:
      return {Code::kInternal, fmt::format("start {}: step {}: {}", program, message.step, why),
              ""};
  }
}

}  // namespace

Sandbox::Sandbox(asio::io_context& io, std::string id_in, uint32_t owner_in, Beginning beginning,
                 std::string network_log, const SandboxEvents& events)
    : id(std::move(id_in)),
      owner(owner_in),
      io_(io),
      events_(events),
      terms_(std::move(beginning.terms)),
      lifetime_(beginning.lifetime),
      birth_(std::move(beginning.birth)),
      history_(std::move(beginning.history)),
      commands_(beginning.commands_started),
      init_(io, id),
      resources_(io, terms_, commands_, init_),
      denials_(id, terms_, commands_),
      border_(io, std::move(network_log)),
      turn_(io),
      listener_(io) {}

// A transition to the same state only changes the reason.
Status Sandbox::Transition(State to, std::string reason) {
  using enum State;
  static constexpr struct {
    State from, to;
  } kAllowed[] = {
      {kStarting, kRunning}, {kStarting, kStopped}, {kStarting, kEnded},      {kStarting, kGoing},
      {kRunning, kRunning},  {kRunning, kStopped},  {kRunning, kEnded},       {kRunning, kGoing},
      {kStopped, kStarting}, {kStopped, kStopped},  {kStopped, kEnded},       {kStopped, kGoing},
      {kEnded, kEnded},      {kEnded, kGoing},      {kStarting, kUnreadable}, {kUnreadable, kGoing},
  };
  for (const auto& allowed : kAllowed) {
    if (allowed.from != state_ || allowed.to != to) continue;
    state_ = to;
    reason_ = std::move(reason);
    return {};
  }
  return Fail(Code::kInternal,
              fmt::format("{}: {} cannot follow {}", id, StateName(to), StateName(state_)),
              "please report this");
}

void Sandbox::Attach(SpawnAnswer answer, const sys::CgroupHost& cgroups) {
  const bool grouped = (answer.reply.flags & (kFlagCgroupV1 | kFlagCgroupV2)) != 0;
  const auto self = shared_from_this();
  launched_ = {answer.reply.init_pid, answer.reply.uid_base,
               (answer.reply.flags & kFlagAppArmor) != 0};
  dead_ends_ = {};
  if (grouped)
    resources_.Open(cgroups, answer.reply.cgroup);
  else
    resources_.OpenWithoutCgroup();
  const bool pauses = resources_.version() == sys::CgroupVersion::kNone;
  init_.Open(answer.fds[0].Release(), pauses, self,
             [this](const InitMessage& message, std::vector<sys::Fd> fds) {
               Handle(message, std::move(fds));
             });
  sys::SetNonBlocking(answer.fds[2].get());
  listener_.assign(answer.fds[2].Release());
  NetlinkSupply::Surroundings around;
  around.listener = listener_.native_handle();
  around.init_pid = launched_.init_pid;
  around.tell_init = [this](const InitMessage& message) { return init_.Send(message); };
  around.may_stand_still = [this] { return !turn_.is_open(); };
  netlink_ = std::make_shared<NetlinkSupply>(io_, std::move(around));
  asio::co_spawn(io_, ReadDenials(self), kDetached);
  if (answer.fds.size() > 3) resources_.WatchMemory(std::move(answer.fds[3]), self);
  (void)Transition(State::kRunning, "");
  ++life_;
  commands_.NoteActivity();
}

void Sandbox::Detach(const std::string& why) {
  if (netlink_) netlink_->Close();
  init_.Close();
  boost::system::error_code ignored;
  (void)listener_.close(ignored);
  resources_.Close();
  if (events_.on_detach) events_.on_detach(*this);
  commands_.Lose(why);
}

Status Sandbox::Start(const std::shared_ptr<CommandRun>& command, const Command& image) {
  resources_.NoteStart(*command);
  CLOCHE_TRY(init_.Start(command->number(), image));
  Adopt(command);
  return {};
}

void Sandbox::Adopt(const std::shared_ptr<CommandRun>& command) {
  commands_.Add(command);
  if (command->request().service.empty()) history_.CommandStarted();
}

void Sandbox::Signal(uint32_t command, int signal) {
  InitMessage message{};
  message.op = InitOp::kSignal;
  message.command = command;
  message.value = signal;
  if (const auto found = commands_.Find(command); signal == SIGKILL && found) found->NoteKill();
  (void)init_.Send(message);
}

void Sandbox::KillAll() {
  InitMessage message{};
  message.op = InitOp::kKillAll;
  for (const auto& [number, command] : commands_.all()) command->NoteKill();
  (void)init_.Send(message);
}

void Sandbox::RecordCanary(const std::string& canary, const std::string& form,
                           const std::string& destination) {
  if (const auto limit = denials_.RecordCanary(canary, form, destination))
    events_.on_limit(*this, *limit);
}

void Sandbox::Handle(const InitMessage& message, std::vector<sys::Fd> fds) {
  if (message.op == InitOp::kNetlink && netlink_) {
    netlink_->Made(message, fds.empty() ? sys::Fd() : std::move(fds[0]));
    return;
  }
  if (message.op == InitOp::kOwner && border_.network()) {
    const std::string process(message.name, strnlen(message.name, sizeof message.name));
    border_.network()->NameOwner(static_cast<uint16_t>(message.value), message.pid, process);
    return;
  }
  const std::shared_ptr<CommandRun> command = commands_.Find(message.command);
  if (!command) return;
  commands_.NoteActivity();
  if (message.op == InitOp::kStarted) {
    command->steps().Mark("start command");
    command->Started(message.pid, std::move(fds));
  } else if (message.op == InitOp::kFailed) {
    int exit_status = 125;
    Command image;
    image.argv = command->request().argv;
    image.cwd = command->request().cwd;
    Error error = StartError(message, image, exit_status);
    command->Failed(std::move(error), exit_status);
  } else if (message.op == InitOp::kExited) {
    HandleExit(*command, message);
  }
}

void Sandbox::HandleExit(CommandRun& command, const InitMessage& message) {
  command.steps().Mark("command");
  if (events_.on_exit && border_.network()) events_.on_exit(*this);
  if (!border_.is_open()) TellOfDeadEnds(command);
  const sys::CgroupUsage usage = resources_.NoteEnd(command);
  command.Exited(message);
  if (usage.cpu_us >= 0 && command.cpu_us_before >= 0)
    command.AddResult("cpu_s", static_cast<double>(usage.cpu_us - command.cpu_us_before) / 1e6);
  if (usage.peak_bytes >= 0) command.AddResult("peak_memory_bytes", usage.peak_bytes);
}

Task<void> Sandbox::ReadDenials([[maybe_unused]] std::shared_ptr<Sandbox> self) {
  while (listener_.is_open()) {
    auto [error] = co_await listener_.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error || !listener_.is_open()) co_return;
    for (int i = 0; i < kDenialsPerTurn; ++i) {
      // Receiving blocks if there is nothing, regardless of O_NONBLOCK.
      if (!sys::ReadableNow(listener_.native_handle())) break;
      sys::SeccompNotification notification;
      int result = sys::ReceiveNotification(listener_.native_handle(), notification);
      if (result == -ENOENT || result == -EINTR) continue;
      if (result < 0) break;
      sys::Verdict verdict =
          sys::Decide(sys::kNativeAbi, notification.number, notification.arguments, true);
      if (verdict.supplied()) {
        // Init itself makes the sockets that NetlinkSupply asks for.
        if (notification.pid == static_cast<uint32_t>(launched_.init_pid))
          sys::ContinueNotification(listener_.native_handle(), notification.id);
        else
          netlink_->Ask(notification);
        continue;
      }
      // A denial that ends the sandbox gets no answer: the caller never runs again.
      if (const auto limit = denials_.Record(notification)) {
        events_.on_limit(*this, *limit);
        continue;
      }
      sys::DenyNotification(listener_.native_handle(), notification.id,
                            verdict.error == 0 ? EPERM : verdict.error);
      if (!listener_.is_open()) co_return;
    }
    // Yield, so that a flood of denials does not starve other requests.
    co_await asio::post(io_, asio::use_awaitable);
  }
}

// Without a border nothing shows where the command tried to connect, but the kernel counts.
void Sandbox::TellOfDeadEnds(CommandRun& command) {
  const auto now = sys::ReadDeadEnds(launched_.init_pid);
  if (!now || *now == std::exchange(dead_ends_, *now)) return;
  command.Tell(
      FrameType::kNotice,
      {{"kind", "network"},
       {"message",
        fmt::format("blocked: no network is granted to {}; grant what it needs with: {}", id,
                    terms_.keep() ? fmt::format("cloche net {} allow HOST:443", id)
                                  : std::string("--allow HOST:443"))}});
}

}  // namespace cloche::daemon
