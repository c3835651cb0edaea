#include "daemon/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "base/text.h"
#include "diff/sha256.h"
#include "sys/apparmor.h"
#include "sys/file.h"
#include "sys/landlock.h"
#include "sys/message.h"
#include "sys/process.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMaxRemembered = 200;
constexpr int kDenialsPerTurn = 32;
constexpr std::chrono::seconds kPausePatience{5};

const char* StateName(Sandbox::State state) {
  static constexpr const char* kNames[] = {"starting", "running", "stopped",
                                           "ended",    "going",   "unreadable"};
  return kNames[static_cast<int>(state)];
}

const char* ClassName(sys::DenialClass kind) {
  switch (kind) {
    case sys::DenialClass::kViolation:
      return "violation";
    case sys::DenialClass::kReported:
      return "reported";
    default:
      return "quiet";
  }
}

std::string ProcessName(uint32_t pid) {
  std::string name;
  std::string path = "/proc/" + std::to_string(pid) + "/comm";
  if (pid == 0 || sys::ReadFileAt(AT_FDCWD, path.c_str(), name) < 0) return "?";
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

// A shell's words for what execve or the steps before it said.
Error StartError(const InitMessage& message, const Command& image, int& exit_status) {
  const std::string program = EscapeForTerminal(image.argv.empty() ? "" : image.argv[0]);
  const char* why = strerror(message.value);
  exit_status = 125;
  switch (static_cast<ExecStage>(message.stage)) {
    case ExecStage::kDirectory:
      return {Code::kInvalid, fmt::format("enter {}: {}", EscapeForTerminal(image.cwd), why),
              "start from a directory that exists in the sandbox and that you may enter"};
    case ExecStage::kExec:
      exit_status = message.value == ENOENT || message.value == ENOTDIR ? 127 : 126;
      return {message.value == ENOENT ? Code::kNotFound : Code::kInvalid,
              fmt::format("run {}: {}", program, exit_status == 127 ? "command not found" : why),
              exit_status == 127 ? "check the name, or give a path" : "is it an executable file?"};
    case ExecStage::kFork:
      return {Code::kExhausted, fmt::format("start {}: {}", program, why),
              "the sandbox has reached its limit of processes: raise --pids"};
    default:
      return {Code::kInternal, fmt::format("start {}: step {}: {}", program, message.stage, why),
              ""};
  }
}

}  // namespace

const std::shared_ptr<SandboxNetwork>& Sandbox::Network() {
  if (!network) network = std::make_shared<SandboxNetwork>(io_, network_log_);
  return network;
}

// The same state once more is another reason for it.
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

void Sandbox::NoteKill(CommandRun& command) {
  if (!command.ended() && !command.kill_sent) command.kill_sent = std::chrono::steady_clock::now();
}

void Sandbox::Attach(SpawnAnswer answer, const sys::CgroupHost& cgroups) {
  const bool grouped = (answer.reply.flags & (kFlagCgroupV1 | kFlagCgroupV2)) != 0;
  cgroup_version_ = grouped ? cgroups.version : sys::CgroupVersion::kNone;
  meter_ = grouped ? sys::CgroupMeter(cgroups, answer.reply.cgroup) : sys::CgroupMeter();
  const std::string answer_cgroup = answer.reply.cgroup;
  apparmor_ = (answer.reply.flags & kFlagAppArmor) != 0;
  init_pid_ = answer.reply.init_pid;
  uid_base_ = answer.reply.uid_base;
  dead_ends_ = {};
  for (size_t i : {size_t{0}, size_t{2}, size_t{3}})
    if (i < answer.fds.size()) sys::SetNonBlocking(answer.fds[i].get());
  control_.assign(answer.fds[0].Release());
  listener_.assign(answer.fds[2].Release());
  NetlinkSupply::Surroundings around;
  around.listener = listener_.native_handle();
  around.init_pid = init_pid_;
  around.tell_init = [this](const InitMessage& message) {
    return control_.is_open() &&
           sys::SendMessage(control_.native_handle(), &message, sizeof message) > 0;
  };
  around.may_stand_still = [this] { return turn != nullptr; };
  netlink_ = std::make_shared<NetlinkSupply>(io_, std::move(around));
  auto self = shared_from_this();
  asio::co_spawn(io_, ReadInit(self), kDetached);
  asio::co_spawn(io_, ReadDenials(self), kDetached);
  if (answer.fds.size() > 3) {
    oom_.assign(answer.fds[3].Release());
    asio::co_spawn(io_, WatchOom(self, cgroup_version_ == sys::CgroupVersion::kV2), kDetached);
  }
  (void)Transition(State::kRunning, "");
  ++launches;
  memory_groups_ = grouped ? MemoryGroups(cgroups, answer_cgroup) : MemoryGroups();
  kills_seen_.clear();
  refusals_seen_ = 0;
  last_activity_ = std::chrono::steady_clock::now();
}

void Sandbox::Detach(const std::string& why) {
  boost::system::error_code ignored;
  if (netlink_) netlink_->Close();
  (void)control_.close(ignored);
  (void)listener_.close(ignored);
  (void)oom_.close(ignored);
  meter_ = {};
  if (pausing_) pausing_->Set();
  if (socket_asked_) socket_asked_->Set();
  if (on_detach) on_detach(*this);
  for (auto& [number, command] : commands_) command->Lost(why);
  last_activity_ = std::chrono::steady_clock::now();
}

Status Sandbox::Start(const std::shared_ptr<CommandRun>& command, const Command& image) {
  std::string bytes = EncodeCommand(image);
  sys::Fd memory;
  if (bytes.size() > kInlineImage) {
    memory = sys::Fd(sys::SealedMemfd("command", bytes.data(), bytes.size()));
    if (!memory.valid())
      return Fail(Code::kInternal, fmt::format("make command image: {}", strerror(-memory.get())));
    bytes.clear();
  }
  const int fds[] = {memory.get()};
  InitMessage message{};
  message.op = InitOp::kExec;
  message.command = command->number();
  command->memory_group = memory_groups_.current();
  // A new sandbox starts its counters at zero (and a few ms of its own making).
  if (commands_started > 0 || memory_groups_.divided()) {
    sys::CgroupUsage usage = Usage(sys::UsageDetail::kBaseline);
    command->cpu_us_before = usage.cpu_us;
    command->oom_before = memory_groups_.Kills(command->memory_group, usage.oom_kills);
    command->refusals_before = refusals_seen_;
  }
  bytes.insert(0, reinterpret_cast<const char*>(&message), sizeof message);
  long sent = control_.is_open()
                  ? sys::SendMessage(control_.native_handle(), bytes.data(), bytes.size(),
                                     std::span(fds, memory.valid() ? 1 : 0))
                  : -EPIPE;
  if (sent < 0)
    return Fail(Code::kUnavailable,
                fmt::format("reach the sandbox's init: {}", strerror(static_cast<int>(-sent))),
                "start it again");
  Adopt(command);
  return {};
}

void Sandbox::Adopt(const std::shared_ptr<CommandRun>& command) {
  AddCommand(command);
  if (!command->request().service.empty()) return;
  ++commands_started;
  history.is_current = false;
  last_activity_ = std::chrono::steady_clock::now();
}

Task<Result<bool>> Sandbox::Pause() {
  if (!runs() || cgroup_version_ != sys::CgroupVersion::kNone || !control_.is_open())
    co_return false;
  InitMessage message{};
  message.op = InitOp::kPause;
  paused_ = false;
  pausing_ = std::make_shared<Event>(io_);
  const std::shared_ptr<Event> answered = pausing_;
  asio::steady_timer patience(io_, kPausePatience);  // an init that hears nothing is ended later
  patience.async_wait([answered](boost::system::error_code error) {
    if (!error) answered->Set();
  });
  if (sys::SendMessage(control_.native_handle(), &message, sizeof message) > 0)
    co_await answered->Wait();
  patience.cancel();
  pausing_.reset();
  if (paused_) co_return true;
  co_return Fail(Code::kUnavailable, "save " + id + ": its processes could not be stopped",
                 "try again, or stop it first: cloche stop " + id);
}

Task<Result<sys::Fd>> Sandbox::AskSocket(InitOp op, std::string what) {
  while (socket_asked_) {  // one at a time
    const std::shared_ptr<Event> other = socket_asked_;
    co_await other->Wait();
    if (socket_asked_ == other) socket_asked_.reset();
  }
  const std::shared_ptr<Event> answered = std::make_shared<Event>(io_);
  socket_asked_ = answered;
  socket_op_ = op;
  asio::steady_timer patience(io_, kPausePatience);
  patience.async_wait([answered](boost::system::error_code error) {
    if (!error) answered->Set();
  });
  InitMessage message{};
  message.op = op;
  if (control_.is_open() &&
      sys::SendMessage(control_.native_handle(), &message, sizeof message) > 0)
    co_await answered->Wait();
  answered->Set();
  if (socket_asked_ == answered) socket_asked_.reset();
  sys::Fd made = std::move(socket_);
  if (!made.valid())
    co_return Fail(Code::kUnavailable, fmt::format("{} of {}: its init gives no socket", what, id),
                   "try again");
  co_return made;
}

bool Sandbox::AskOwner(uint16_t port) {
  InitMessage message{};
  message.op = InitOp::kOwner;
  message.value = port;
  return control_.is_open() &&
         sys::SendMessage(control_.native_handle(), &message, sizeof message) > 0;
}

void Sandbox::Resume() {
  InitMessage message{};
  message.op = InitOp::kResume;
  if (control_.is_open()) sys::SendMessage(control_.native_handle(), &message, sizeof message);
}

void Sandbox::Signal(uint32_t command, int signal) {
  InitMessage message{};
  message.op = InitOp::kSignal;
  message.command = command;
  message.value = signal;
  if (auto found = commands_.find(command); signal == SIGKILL && found != commands_.end())
    NoteKill(*found->second);
  if (control_.is_open()) sys::SendMessage(control_.native_handle(), &message, sizeof message);
}

void Sandbox::KillAll() {
  InitMessage message{};
  message.op = InitOp::kKillAll;
  for (auto& [number, command] : commands_) NoteKill(*command);
  if (control_.is_open()) sys::SendMessage(control_.native_handle(), &message, sizeof message);
}

std::shared_ptr<CommandRun> Sandbox::FindCommand(const std::string& number) const {
  for (const auto& [key, command] : commands_)
    if (std::to_string(key) == number) return command;
  return nullptr;
}

void Sandbox::AddCommand(std::shared_ptr<CommandRun> command) {
  commands_[command->number()] = std::move(command);
  for (auto it = commands_.begin(); commands_.size() > kMaxRemembered && it != commands_.end();)
    it = it->second->ended() ? commands_.erase(it) : std::next(it);
}

size_t Sandbox::running_commands() const {
  size_t count = 0;
  for (const auto& [number, command] : commands_)
    count += command->ended() || !command->request().service.empty() ? 0 : 1;
  return count;
}

Task<void> Sandbox::ReadInit([[maybe_unused]] std::shared_ptr<Sandbox> self) {
  while (control_.is_open()) {
    auto [error] = co_await control_.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error) co_return;
    while (control_.is_open()) {
      InitMessage message{};
      int fds[3];
      int fd_count = 0;
      long got = sys::ReceiveMessage(control_.native_handle(), &message, sizeof message, fds,
                                     fd_count, true);
      if (got == -EAGAIN) break;
      std::vector<sys::Fd> owned;
      for (int i = 0; i < fd_count; ++i) owned.emplace_back(fds[i]);
      if (got != static_cast<long>(sizeof message)) co_return;  // spawn tells how it ended
      Handle(message, std::move(owned));
    }
  }
}

void Sandbox::Handle(const InitMessage& message, std::vector<sys::Fd> fds) {
  if (message.op == InitOp::kPaused && pausing_) {
    paused_ = message.value == 1;
    pausing_->Set();
  } else if (message.op == InitOp::kPaused && message.value == 1) {
    Resume();  // too late: nobody waits for it any more
  }
  const bool is_answer = message.op == InitOp::kSocket || message.op == InitOp::kMounts ||
                         message.op == InitOp::kListen;
  if (is_answer) {
    if (!socket_asked_ || message.op != socket_op_) return;  // nobody waits for it any more
    if (!fds.empty()) socket_ = std::move(fds[0]);
    socket_asked_->Set();
    return;
  }
  if (message.op == InitOp::kNetlink && netlink_) {
    netlink_->Made(message, fds.empty() ? sys::Fd() : std::move(fds[0]));
    return;
  }
  if (message.op == InitOp::kOwner && network) {
    const std::string process(message.name, strnlen(message.name, sizeof message.name));
    network->NameOwner(static_cast<uint16_t>(message.value), message.pid, process);
    return;
  }
  auto found = commands_.find(message.command);
  if (found == commands_.end()) return;
  std::shared_ptr<CommandRun> command = found->second;
  last_activity_ = std::chrono::steady_clock::now();
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
    command->steps().Mark("command");
    if (on_exit && network) on_exit(*this);
    const bool border = network && network->proxy_port != 0;
    if (!border) TellOfDeadEnds(*command);
    sys::CgroupUsage usage = Usage(sys::UsageDetail::kResult);
    for (LimitHit& hit : LimitsHit(*command, usage)) command->MarkLimit(std::move(hit));
    refusals_seen_ = usage.pid_refusals;
    command->Exited(message);
    if (usage.cpu_us >= 0 && command->cpu_us_before >= 0)
      command->AddResult("cpu_s", static_cast<double>(usage.cpu_us - command->cpu_us_before) / 1e6);
    if (usage.peak_bytes >= 0) command->AddResult("peak_memory_bytes", usage.peak_bytes);
  }
}

Task<void> Sandbox::ReadDenials([[maybe_unused]] std::shared_ptr<Sandbox> self) {
  while (listener_.is_open()) {
    auto [error] = co_await listener_.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error || !listener_.is_open()) co_return;
    for (int i = 0; i < kDenialsPerTurn; ++i) {
      // Receiving blocks when there is nothing, whatever O_NONBLOCK says.
      if (!sys::ReadableNow(listener_.native_handle())) break;
      sys::SeccompNotification notification;
      int result = sys::ReceiveNotification(listener_.native_handle(), notification);
      if (result == -ENOENT || result == -EINTR) continue;
      if (result < 0) break;
      sys::Verdict verdict =
          sys::Decide(sys::kNativeAbi, notification.number, notification.arguments, true);
      if (verdict.supplied()) {
        // Init itself makes what the supply asks it for.
        if (notification.pid == static_cast<uint32_t>(init_pid_))
          sys::ContinueNotification(listener_.native_handle(), notification.id);
        else
          netlink_->Ask(notification);
        continue;
      }
      // Recorded while the caller still waits: afterwards its /proc entry may be gone.
      // One that ends the sandbox gets no answer: the caller never runs again.
      if (Record(notification)) continue;
      sys::DenyNotification(listener_.native_handle(), notification.id,
                            verdict.error == 0 ? EPERM : verdict.error);
      if (!listener_.is_open()) co_return;
    }
    // A flood of denials takes turns with everybody else's requests.
    co_await asio::post(io_, asio::use_awaitable);
  }
}

bool Sandbox::Record(const sys::SeccompNotification& notification) {
  sys::DenialClass kind = sys::ClassOf(notification.number, notification.arguments);
  const char* known = sys::SyscallName(notification.number);
  std::string call = known ? known : fmt::format("syscall {}", notification.number);
  auto now = std::chrono::system_clock::now();
  ++denial_count_;
  Denial* row = nullptr;
  for (Denial& denial : denials_)
    if (denial.call == call && denial.kind == kind) row = &denial;
  bool first = row == nullptr;
  if (first && denials_.size() < kMaxDenialKinds) {
    denials_.push_back({call, {}, 0, "", kind, 0, now, now});
    row = &denials_.back();
  }
  if (row) {
    ++row->count;
    row->last = now;
    if (first) {
      row->pid = notification.pid;
      row->process = ProcessName(notification.pid);
      row->args.assign(notification.arguments, notification.arguments + 3);
    }
  }
  for (auto& [number, command] : commands_) {
    if (command->ended()) continue;
    ++command->denials;
    if (first && row)
      command->Tell(
          FrameType::kNotice,
          {{"kind", "denial"},
           {"class", ClassName(kind)},
           {"message", fmt::format("denied: {} by {} (pid {}): not allowed in a sandbox{}", call,
                                   EscapeForTerminal(row->process), row->pid, See("show"))}});
  }
  uint64_t budget = planned.limits.denials.value_or(0);
  bool ends = true;
  if (kind == sys::DenialClass::kViolation && request.on_violation == OnViolation::kKill)
    end_("violation", "violation: " + call);
  else if (budget != 0 && denial_count_ >= budget)
    end_("denials", fmt::format("limit of {} denials reached", budget));
  else
    ends = false;
  return ends;
}

// Without a border nobody sees where it wanted to go, but the kernel counts.
void Sandbox::TellOfDeadEnds(CommandRun& ended) {
  const auto now = sys::ReadDeadEnds(init_pid_);
  if (!now || *now == std::exchange(dead_ends_, *now)) return;
  ended.Tell(FrameType::kNotice,
             {{"kind", "network"},
              {"message",
               fmt::format("blocked: no network is granted to {}; grant what it needs with: {}", id,
                           keep ? fmt::format("cloche net {} allow HOST:443", id)
                                : std::string("--allow HOST:443"))}});
}

std::string Sandbox::See(std::string_view verb, std::string_view what) const {
  // One that ends with its command is gone before anybody can ask for it.
  if (!keep) return "";
  return fmt::format("; see: cloche {} {}{}{}", verb, id, what.empty() ? "" : " ", what);
}

std::string Sandbox::NetworkText() const {
  const size_t rules = request.network.rules.size();
  if (rules == 0) return "none";
  return fmt::format("{} rule{}{}", rules, rules == 1 ? "" : "s", See("net", "show"));
}

Json Sandbox::Enforced() const {
  const SandboxSpec& spec = planned.plan.spec;
  Json capabilities = Json::array();
  uint64_t held =
      spec.root_inside || spec.map_root ? sys::RootInsideCapabilities(spec.WritesOutside()) : 0;
  for (int bit = 0; bit < 64; ++bit)
    if ((held >> bit & 1) != 0) capabilities.push_back(sys::CapabilityName(bit));
  const char* cgroup = cgroup_version_ == sys::CgroupVersion::kV2   ? "v2"
                       : cgroup_version_ == sys::CgroupVersion::kV1 ? "v1"
                                                                    : "none";
  Json namespaces = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"};
  if (sys::HasTimeNamespaces()) namespaces.push_back("time");
  return {{"uid", spec.map_root ? 0 : spec.caller.uid},
          {"capabilities", capabilities},
          {"no_new_privs", true},
          {"seccomp", "allowlist, denials notified"},
          {"landlock_abi", sys::LandlockAbi()},
          {"apparmor", apparmor_ ? sys::kAppArmorProfile : "none"},
          {"namespaces", namespaces},
          {"network", NetworkText()},
          {"cgroup", cgroup}};
}

Json Sandbox::ServicesJson() const {
  Json list = Json::array();
  for (const ServiceRequest& each : request.services) {
    Json json = {{"name", each.name}, {"state", "stopped"},  {"reason", ""},
                 {"restarts", 0},     {"ports", each.ports}, {"sockets", each.sockets},
                 {"data", each.data}};
    for (const auto& service : services)
      if (service->request.name == each.name) service->Describe(json);
    list.push_back(std::move(json));
  }
  return list;
}

void Sandbox::PinProjectFile(std::string text) {
  project_file_digest = text.empty() ? "" : "sha256:" + diff::ToHex(diff::HashOf(text));
  request.project_file = std::move(text);
}

Json Sandbox::ToJson() const {
  static constexpr const char* kStates[] = {"running", "running", "stopped",
                                            "ended",   "ended",   "unreadable"};
  Json json = {{"id", id},
               {"name", name},
               {"state", kStates[static_cast<int>(state_)]},
               {"reason", reason_},
               {"created", Rfc3339(created)},
               {"base", request.base_directory.empty() ? "host" : "dir:" + request.base_directory},
               {"mode", planned.plan.spec.mode == Mode::kSystem ? "system" : "rootless"},
               {"keep", keep},
               {"agent", request.agent},
               {"task", request.task},
               {"labels", request.labels},
               {"limits", LimitsToJson(planned.limits)},
               {"not_enforced", planned.not_enforced},
               {"enforced", Enforced()},
               {"commands", commands_started},
               {"head", history.head},
               {"forked_from", history.origin},
               {"project", request.project},
               {"cwd", request.cwd},
               {"project_file", project_file_digest},
               {"services", ServicesJson()}};
  json["secrets"] = Json::array();
  for (const SecretGrant& grant : request.network.secrets)
    json["secrets"].push_back({{"name", grant.name}, {"variable", grant.variable}});
  if (request.canaries.wanted) json["decoys"] = DecoysToJson(planned.decoys);
  json["hidden"] = Json::array();
  for (const Absence& absence : planned.hidden) json["hidden"].push_back(absence.path);
  if (runs()) {
    const sys::CgroupUsage usage = Usage();
    Json known = Json::object();  // nothing is counted without a cgroup
    if (usage.cpu_us >= 0) known["cpu_s"] = static_cast<double>(usage.cpu_us) / 1e6;
    if (usage.memory_bytes >= 0) known["memory_bytes"] = usage.memory_bytes;
    if (usage.pids >= 0) known["pids"] = usage.pids;
    json["usage"] = std::move(known);
    json["init_pid"] = init_pid_;
    json["uid_base"] = uid_base_;
  }
  Json denials = Json::array();
  for (const Denial& denial : denials_)
    denials.push_back({{"call", denial.call},
                       {"args", denial.args},
                       {"pid", denial.pid},
                       {"process", denial.process},
                       {"class", ClassName(denial.kind)},
                       {"count", denial.count},
                       {"first", Rfc3339(denial.first)},
                       {"last", Rfc3339(denial.last)}});
  for (size_t i = 0; i < denials_.size(); ++i)
    if (!denials_[i].detail.empty()) denials[i]["detail"] = denials_[i].detail;
  json["denials"] = denials;
  Json current = nullptr;
  for (const auto& [number, command] : commands_)
    if (command->request().service.empty()) current = command->request().argv;
  json["last_command"] = current;
  return json;
}

}  // namespace cloche::daemon
