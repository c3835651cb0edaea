#include "spawn/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/command_image.h"
#include "spawn/check.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/message.h"
#include "sys/process.h"
#include "sys/watch_reserve.h"

namespace cloche::spawn {
namespace {

constexpr size_t kMaxPlan = 8 << 20;
constexpr size_t kMostRequestFds = 6;  // of readers
constexpr int kTrimMs = 1000;
// epoll tokens that are not pids. (Pid 1 is never a child of ours.)
constexpr uint64_t kRequestToken = 0, kMountsToken = 1;

template <size_t N>
void Fill(char (&to)[N], const std::string& from) {
  size_t size = std::min(from.size(), N - 1);
  memcpy(to, from.data(), size);
  to[size] = '\0';
}

bool IsUntouched(int upper) {
  sys::Directory slots(upper, ".");
  while (const dirent* slot = slots.Next()) {
    const std::string changes = std::string(slot->d_name) + "/u";
    if (faccessat(upper, changes.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
      continue;  // read-only
    if (!sys::IsEmptyDirectory(upper, changes.c_str())) return false;
  }
  return slots.error() == 0;
}

uint32_t AppArmorFlag(sys::AppArmor apparmor) {
  return apparmor == sys::AppArmor::kReady       ? kFlagAppArmor
         : apparmor == sys::AppArmor::kNoProfile ? kFlagAppArmorMissing
                                                 : 0;
}

uint32_t Since(uint64_t start, uint64_t end) { return static_cast<uint32_t>(end - start); }

}  // namespace

OrFailure<LaunchPlan> ReadPlan(int memfd) {
  std::string bytes;
  if (int error = sys::ReadSealed(memfd, bytes, kMaxPlan); error < 0)
    return Failed(SpawnStep::kPlan, "read plan", error);
  auto plan = DecodePlan(bytes);
  if (!plan) return Failed(SpawnStep::kPlan, plan.error().message, EBADMSG);
  return std::move(*plan);
}

Server::Server(Mode mode, sys::Fd daemon, HostView host, Store& store, sys::CgroupTree& cgroups,
               Workshop& workshop)
    : mode_(mode),
      daemon_(std::move(daemon)),
      host_(std::move(host)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      store_(store),
      cgroups_(cgroups),
      workshop_(workshop) {
  RestartKeeper();
  epoll_event event{EPOLLIN, {.u64 = kRequestToken}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, daemon_.get(), &event);
  event = {EPOLLPRI, {.u64 = kMountsToken}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, host_.fd(), &event);
}

void Server::RestartKeeper() {
  keeper_ = StartKeeper(store_, cgroups_, daemon_.get(), keeper_pid_);
}

// A request may come before the loop notices them.
void Server::NoticeMounts() {
  if (host_.Changed()) TakeInMounts();
}

void Server::TakeInMounts() {
  FinishRefills();
  shelf_.Clear([&](Sandbox s) { Dispose(std::move(s)); });
  workshop_.ForgetMasks();
  host_.Follow();
  mounts_changed_ = sys::MonotonicMicros();
}

// If we do not see a mount, the directory below it must not pass for it.
OrFailure<void> Server::CheckSources(const SandboxSpec& spec) const {
  for (const MountOp& op : spec.mounts)
    if (const std::string* mount = op.source.empty() ? nullptr : host_.DiffersAt(op.source))
      return Failed(SpawnStep::kMounts, "follow the host's mounts", ESTALE, *mount);
  return {};
}

// If we could not notice its end, end the sandbox at once.
OrFailure<void> Server::Watch(Sandbox& sandbox) {
  epoll_event event{EPOLLIN, {.u64 = static_cast<uint64_t>(sandbox.pid)}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, sandbox.pidfd.get(), &event) == 0) return {};
  const int error = errno;
  sys::PidfdSignal(sandbox.pidfd.get(), SIGKILL);
  while (waitpid(sandbox.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  sandbox.discard = !sandbox.returning;
  CleanUp(sandbox);
  return Failed(SpawnStep::kNamespaces, "watch init", error);
}

int Server::Run() {
  SpawnReply ready{};
  ready.op = SpawnOp::kReady;
  ready.flags = AppArmorFlag(workshop_.apparmor());
  sys::SendMessage(daemon_.get(), &ready, sizeof ready);
  while (!quit_) {
    epoll_event events[32];
    const int refill = RefillDelay();
    int count = epoll_wait(epoll_.get(), events, 32, refill >= 0 ? refill : kTrimMs);
    if (count < 0 && errno != EINTR) return 1;
    // The kernel reports the host's mounts once, and everything prepared before is now useless.
    for (int i = 0; i < count; ++i)
      if (events[i].data.u64 == kMountsToken) TakeInMounts();
    // Requests first: a person waits for them.
    for (int i = 0; i < count; ++i)
      if (events[i].data.u64 == kRequestToken) HandleRequest();
    for (int i = 0; i < count; ++i) {
      uint64_t token = events[i].data.u64;
      if (token == kMountsToken) continue;
      if ((token & kJobBit) != 0) {
        JobEnded(static_cast<pid_t>(token & ~kJobBit));
      } else if ((token & kReportBit) != 0) {
        FinishRefill(static_cast<pid_t>(token & ~kReportBit));
      } else if (token != kRequestToken) {
        InitEnded(static_cast<pid_t>(token));
      }
    }
    if (keeper_pid_ > 0 && waitpid(keeper_pid_, nullptr, WNOHANG) == keeper_pid_) RestartKeeper();
    if (count == 0 && refill >= 0) Refill();
    shelf_.Trim([&](Sandbox s) { Dispose(std::move(s)); });
    sys::RefillWatches();
  }
  Shutdown();
  return 0;
}

void Server::Shutdown() {
  FinishRefills();
  shelf_.Clear([&](Sandbox s) { Dispose(std::move(s)); });
  for (auto& [pid, sandbox] : alive_) sys::PidfdSignal(sandbox.pidfd.get(), SIGKILL);
  for (auto& [pid, sandbox] : alive_) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    CleanUp(sandbox);
  }
  alive_.clear();
  for (auto& [pid, job] : jobs_) {
    sys::PidfdSignal(job.pidfd.get(), SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  workshop_.ForgetMasks();
  keeper_.Reset();  // it finishes its tasks and exits
  while (waitpid(keeper_pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Server::HandleRequest() {
  SpawnRequest request{};
  int fds[kMostRequestFds];
  int fd_count = 0;
  long got = sys::ReceiveMessage(daemon_.get(), &request, sizeof request, fds, fd_count);
  if (got == 0 || got == -ECONNRESET) {
    quit_ = true;
    return;
  }
  NoticeMounts();
  request.sandbox[sizeof request.sandbox - 1] = '\0';
  const std::span<const int> passed(fds, static_cast<size_t>(fd_count));
  if (got == static_cast<long>(sizeof request)) {
    if (IsSandboxId(request.sandbox))
      Serve(request, passed);
    else
      Refuse(request, {SpawnStep::kPlan, "sandbox id", EINVAL, request.sandbox});
  }
  for (const int each : passed) close(each);
}

// Dispatches requests.
void Server::Serve(const SpawnRequest& request, std::span<const int> fds) {
  switch (request.op) {
    case SpawnOp::kLaunch:
      return Launch(request, fds);
    case SpawnOp::kKill:
      return Stop(request, BodyOf<ask::Kill>(request).brief != 0);
    case SpawnOp::kDiscard:
      return Discard(request, BodyOf<ask::Discard>(request).count != 0);
    case SpawnOp::kRoom:
      return TellRoom(request);
    case SpawnOp::kDiskUsage:
      return TellDiskUsage(request);
    case SpawnOp::kSnapshot:
    case SpawnOp::kRollback:
    case SpawnOp::kFork:
    case SpawnOp::kDropSnapshot:
      return StartJob(request);
    case SpawnOp::kRetain:
      return Retain(request, fds);
    case SpawnOp::kFlush:
      return Flush(request);
    case SpawnOp::kDivide:
      return Divide(request);
    case SpawnOp::kDiff: {
      const auto asked = BodyOf<ask::Diff>(request);
      return StartDiffOrPromote(
          request, {Use::kDiff, asked.snapshot.str(), asked.against.str(), asked.live != 0}, fds);
    }
    case SpawnOp::kStaleness:
      return StartDiffOrPromote(request, {Use::kDiff, "", "", true}, fds);
    case SpawnOp::kPromote: {
      const auto asked = BodyOf<ask::Promote>(request);
      return StartDiffOrPromote(request,
                                {Use::kPromote, asked.snapshot.str(), "", asked.live != 0,
                                 asked.freeze != 0, asked.few != 0},
                                fds);
    }
    case SpawnOp::kBirthNote:
      return StartBirthNote(request, fds);
    case SpawnOp::kFlatten:
      return StartFlatten(request, fds);
    case SpawnOp::kEndJob:
      EndJob(BodyOf<ask::EndJob>(request).job);
      return Answer(request, nullptr);
    case SpawnOp::kThawJob:
      ThawJob(BodyOf<ask::ThawJob>(request).job);
      return Answer(request, nullptr);
    case SpawnOp::kNetwork:
    case SpawnOp::kConnect:
    case SpawnOp::kInstallCa:
    case SpawnOp::kForget:
      return StartNetworkJob(request, fds);
    case SpawnOp::kEgress:
      return StartEgress(request, fds);
    case SpawnOp::kSign:
      return StartSigner(request, fds);
    case SpawnOp::kReady:
    case SpawnOp::kReply:
    case SpawnOp::kExited:
      break;
  }
  Refuse(request, {SpawnStep::kPlan, "unknown request", EINVAL, ""});
}

void Server::TellRoom(const SpawnRequest& request) {
  SpawnReply reply = ReplyTo(request);
  if (auto found = ids_.find(request.sandbox); found != ids_.end())
    reply.flags = FullFlags(alive_[found->second]);
  Tell(reply);
}

void Server::TellDiskUsage(const SpawnRequest& request) {
  SpawnReply reply = ReplyTo(request);
  if (auto found = ids_.find(request.sandbox); found != ids_.end()) {
    const auto bytes = store_.BytesOf(alive_[found->second].upper.get());
    reply.flags = bytes ? kFlagCounted : 0;
    reply.changed_bytes = bytes.value_or(0);
  }
  Tell(reply);
}

void Server::Answer(const SpawnRequest& request, const Failure* failure) {
  Tell(failure ? FailureReply(request, *failure) : ReplyTo(request));
}

// A daemon that misses an answer would wait forever: rather let it see that we are gone.
bool Server::Tell(const SpawnReply& reply, std::span<const int> fds) {
  const long sent = sys::SendMessage(daemon_.get(), &reply, sizeof reply, fds);
  if (sent == -ETOOMANYREFS) return false;
  if (sent < 0) quit_ = true;
  return true;
}

// Rootless, there are no rights to borrow: cloched is the caller.
OrFailure<void> Server::IdentifyClient(int socket, sys::PeerIdentity& peer) const {
  if (mode_ == Mode::kSystem)
    if (int error = sys::AcceptedAtFileOfRoot(socket); error < 0)
      return Failed(SpawnStep::kPlan, "not a client's socket", error);
  if (int error = sys::PeerOf(socket, peer); error < 0)
    return Failed(SpawnStep::kPlan, "read the client's credentials", error);
  return {};
}

void Server::Launch(const SpawnRequest& request, std::span<const int> fds) {
  const uint64_t received = sys::MonotonicMicros();
  auto outcome = [&]() -> OrFailure<void> {
    if (fds.size() != 2 && fds.size() != 3)
      return Failed(SpawnStep::kPlan, "launch needs a plan and a client", EBADMSG);
    auto plan = ReadPlan(fds[0]);
    if (!plan) return std::unexpected(plan.error());
    sys::PeerIdentity peer;
    if (auto known = IdentifyClient(fds[1], peer); !known) return known;
    if (auto checked = CheckPlan(*plan, peer, mode_); !checked) return checked;
    if (auto seen = CheckSources(plan->spec); !seen) return seen;
    if (ids_.contains(plan->sandbox_id)) return Failed(SpawnStep::kPlan, "sandbox runs", EEXIST);
    auto choice = ChooseUpper(*plan, peer.uid);
    if (!choice) return std::unexpected(choice.error());
    bool from_shelf = false;
    auto sandbox = *choice ? BuildToOrder(plan->spec, **choice) : TakeOrBuild(*plan, from_shelf);
    if (!sandbox) return std::unexpected(sandbox.error());
    return HandOver(request, *plan, std::move(*sandbox), fds.size() == 3 ? fds[2] : -1, from_shelf,
                    received, sys::MonotonicMicros());
  }();
  if (outcome) return;
  Answer(request, &outcome.error());
  Sweep("");
}

// nullopt: an ordinary new upper, which the shelf has.
OrFailure<std::optional<UpperChoice>> Server::ChooseUpper(const LaunchPlan& plan, uint32_t owner) {
  UpperChoice choice;
  if (plan.keep) {
    auto kept = store_.OpenKept(plan.sandbox_id, owner);
    if (kept)
      choice.kept_id = plan.sandbox_id;
    else if (kept.error().error != ENOENT)
      return std::unexpected(kept.error());
  }
  choice.in_memory = plan.in_memory;
  choice.memory_bytes = plan.limits.disk_bytes;
  choice.memory_inodes = plan.limits.inodes;
  if (plan.keep && choice.kept_id.empty()) choice.memory_id = plan.sandbox_id;
  if (choice.kept_id.empty() && !choice.in_memory) return std::nullopt;
  return choice;
}

OrFailure<Sandbox> Server::BuildToOrder(const SandboxSpec& spec, const UpperChoice& choice) {
  auto built = workshop_.Build(spec, choice);
  if (!built) return built;
  if (auto watched = Watch(*built); !watched) return std::unexpected(watched.error());
  return built;
}

OrFailure<Sandbox> Server::TakeOrBuild(const LaunchPlan& plan, bool& from_shelf) {
  const std::string key = EncodeSpec(plan.spec);
  // A sandbox with decoys is unique: nobody will ask for another.
  if (std::ranges::any_of(plan.spec.files, [](const FileRule& rule) {
        return rule.kind == FileRuleKind::kDecoy || rule.kind == FileRuleKind::kDecoyInstead;
      })) {
    from_shelf = false;
    return BuildToOrder(plan.spec, {});
  }
  const auto dispose = [&](Sandbox s) { Dispose(std::move(s)); };
  auto prepared = shelf_.Take(key, plan, dispose);
  if (!prepared && !preparing_.empty()) {  // ready sooner than a new one
    FinishOneOf(key);
    prepared = shelf_.Take(key, plan, dispose);
  }
  from_shelf = prepared.has_value();
  if (from_shelf) return std::move(*prepared);
  auto built = BuildToOrder(plan.spec, {});
  shelf_.MarkBroken(key, !built.has_value());
  return built;
}

// Adds what a prepared sandbox does not have yet.
OrFailure<void> Server::KeepAndLimit(Sandbox& sandbox, const LaunchPlan& plan) {
  if (plan.keep && !sandbox.kept) {
    auto kept = store_.Keep(sandbox.name, plan.sandbox_id, plan.spec.caller.uid);
    if (!kept) return std::unexpected(kept.error());
    sandbox.kept = true;
  }
  return sandbox.limits == plan.limits ? OrFailure<void>() : SetLimits(sandbox, plan.limits);
}

OrFailure<void> Server::HandOver(const SpawnRequest& request, const LaunchPlan& plan,
                                 Sandbox sandbox, int first_command, bool from_shelf,
                                 uint64_t received, uint64_t prepared) {
  sandbox.id = plan.sandbox_id;
  sandbox.owner = plan.spec.caller.uid;
  if (auto ready = KeepAndLimit(sandbox, plan); !ready) {
    Dispose(std::move(sandbox));
    return ready;
  }
  const uint64_t limited = sys::MonotonicMicros();

  SpawnReply reply = ReplyTo(request);
  reply.init_pid = sandbox.pid;
  reply.uid_base = sandbox.uid_base;
  reply.flags = AppArmorFlag(workshop_.apparmor()) | (from_shelf ? kFlagFromPool : 0);
  int fds[4] = {sandbox.control.get(), sandbox.pidfd.get(), sandbox.listener.get(), -1};
  size_t fd_count = 3;
  if (cgroups_.host().version != sys::CgroupVersion::kNone) {
    reply.flags |=
        cgroups_.host().version == sys::CgroupVersion::kV2 ? kFlagCgroupV2 : kFlagCgroupV1;
    Fill(reply.cgroup, cgroups_.PathOf(sandbox.name));
    if (sandbox.oom.valid()) fds[fd_count++] = sandbox.oom.get();
  }
  reply.timing_us[kTimePrepare] = Since(received, prepared);
  reply.timing_us[kTimeLimits] = Since(prepared, limited);
  reply.timing_us[kTimeHandOver] = Since(limited, sys::MonotonicMicros());
  if (first_command >= 0) {
    InitMessage start{};
    start.op = InitOp::kExec;
    start.command = 1;
    int image[] = {first_command};
    if (long sent = sys::SendMessage(sandbox.control.get(), &start, sizeof start, image);
        sent < 0) {
      Dispose(std::move(sandbox));
      return Failed(SpawnStep::kNamespaces, "hand over the command", static_cast<int>(sent));
    }
  }
  if (!Tell(reply, std::span<const int>(fds, fd_count))) {
    Dispose(std::move(sandbox));
    return Failed(SpawnStep::kNamespaces, "hand over", ETOOMANYREFS);
  }
  sandbox.control.Reset();
  sandbox.listener.Reset();
  sandbox.oom.Reset();
  ids_[sandbox.id] = sandbox.pid;
  pid_t pid = sandbox.pid;
  alive_[pid] = std::move(sandbox);
  return {};
}

OrFailure<void> Server::SetLimits(Sandbox& sandbox, const KernelLimits& limits) {
  if (cgroups_.host().version != sys::CgroupVersion::kNone) {
    std::string failed;
    if (sandbox.limits)  // prepared for other limits
      if (int error = cgroups_.ClearLimits(sandbox.name, failed); error < 0)
        return Failed(SpawnStep::kCgroup, "clear limit", error, failed);
    int error = cgroups_.SetLimits(sandbox.name, limits.cpu_millis, limits.memory_bytes,
                                   limits.pids, failed);
    if (error < 0) return Failed(SpawnStep::kCgroup, "set limit", error, failed);
    if (!sandbox.oom.valid()) sandbox.oom = cgroups_.WatchOom(sandbox.name);
    if (!sandbox.oom.valid()) return Failed(SpawnStep::kCgroup, "watch memory", errno);
  }
  if (!sandbox.in_memory)
    if (auto set = store_.SetLimit(sandbox.upper.get(), limits.disk_bytes); !set) return set;
  if (!sandbox.in_memory && !sandbox.limits)  // once
    if (auto charged = store_.Charge(sandbox.upper.get(), sandbox.caller); !charged) return charged;
  sandbox.limits = limits;
  return {};
}

uint32_t Server::FullFlags(const Sandbox& sandbox) const {
  if (!sandbox.limits) return 0;
  const uint32_t flags = Store::FullFlags(sandbox.upper.get(), *sandbox.limits);
  const bool share = (flags & kFlagDiskFull) != 0 && store_.ShareIsFull(sandbox.caller);
  return flags | (share ? kFlagShareFull : 0);
}

Sandbox* Server::TakeBack(const std::string& id) {
  auto found = ids_.find(id);
  if (found == ids_.end()) return nullptr;
  Sandbox& sandbox = alive_[found->second];
  ids_.erase(found);
  return &sandbox;
}

void Server::Stop(const SpawnRequest& request, bool brief) {
  Sandbox* sandbox = TakeBack(request.sandbox);
  if (!sandbox) return Answer(request, nullptr);
  sandbox->discard = false;
  AnswerAtRest(request, *sandbox, brief);
}

void Server::Discard(const SpawnRequest& request, bool count) {
  Sandbox* sandbox = TakeBack(request.sandbox);
  if (!sandbox) {  // its upper may still be there
    auto removed = store_.Discard(request.sandbox, true);
    Answer(request, removed ? nullptr : &removed.error());
    return Sweep("");
  }
  sandbox->discard = true;
  sandbox->summary = count;
  if (sandbox->writes_outside) return AnswerAtRest(request, *sandbox, false);
  // Most commands change nothing, which is quickly seen. The caller waits for the answer, not for
  // the kernel to take everything down, which begins a moment later.
  const bool counted = count && !IsUntouched(sandbox->upper.get());
  if (!counted) Answer(request, nullptr);
  sys::PidfdSignal(sandbox->pidfd.get(), SIGKILL);
  if (counted) AnswerWithCount(request, *sandbox);
}

// Once answered, the host's files no longer change, and the kept files are at rest.
void Server::AnswerAtRest(const SpawnRequest& request, Sandbox& sandbox, bool brief) {
  sandbox.number = request.number;
  if (brief) LeaveMounts(sandbox);
  sys::PidfdSignal(sandbox.pidfd.get(), SIGKILL);
}

// The keeper counts.
void Server::AnswerWithCount(const SpawnRequest& request, const Sandbox& sandbox) {
  KeeperTask task{};
  task.kind = KeeperTask::Kind::kCount;
  task.user_xattr = mode_ == Mode::kRootless;
  task.number = request.number;
  task.flags = FullFlags(sandbox);
  memcpy(task.sandbox, request.sandbox, sizeof task.sandbox);
  int upper[] = {sandbox.upper.get()};
  if (sys::SendMessage(keeper_.get(), &task, sizeof task, upper) <= 0) Answer(request, nullptr);
}

void Server::Dispose(Sandbox sandbox) {
  sys::PidfdSignal(sandbox.pidfd.get(), SIGKILL);
  sandbox.discard = !sandbox.returning;
  pid_t pid = sandbox.pid;
  alive_[pid] = std::move(sandbox);
}

void Server::InitEnded(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return;
  auto found = alive_.find(pid);
  if (found == alive_.end()) {
    shelf_.Clear([&](Sandbox s) { Dispose(std::move(s)); });  // one in stock died: trust none
    found = alive_.find(pid);
    if (found == alive_.end()) return;
  }
  Sandbox sandbox = std::move(found->second);
  alive_.erase(found);
  SpawnRequest waiting{};
  waiting.number = sandbox.number;
  Fill(waiting.sandbox, sandbox.id);
  const bool counted = sandbox.number != 0 && sandbox.summary;
  if (counted) AnswerWithCount(waiting, sandbox);  // before the keeper is told to remove it
  CleanUp(sandbox);
  if (sandbox.number != 0 && !counted) Answer(waiting, nullptr);
  if (!sandbox.id.empty()) {
    ids_.erase(sandbox.id);
    SpawnReply event{};
    event.op = SpawnOp::kExited;
    event.value = status;
    Fill(event.sandbox, sandbox.id);
    Tell(event);
  }
}

// The rename into trash/ is the record on disk that the rest must still happen.
void Server::CleanUp(Sandbox& sandbox) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, sandbox.pidfd.get(), nullptr);
  if (sandbox.discard || !sandbox.kept)
    (void)store_.Discard(sandbox.kept ? sandbox.id : sandbox.name, sandbox.kept);
  workshop_.Release(sandbox);
  Sweep(cgroups_.host().version != sys::CgroupVersion::kNone ? sandbox.name : "");
}

// The keeper empties the trash and removes this cgroup.
void Server::Sweep(const std::string& cgroup) {
  KeeperTask task{};
  task.kind = KeeperTask::Kind::kSweep;
  Fill(task.cgroup, cgroup);
  sys::SendMessage(keeper_.get(), &task, sizeof task);
}

// Lets the mounts outlive init. Without the keeper they do not, and it takes longer.
void Server::LeaveMounts(const Sandbox& sandbox) {
  const sys::Fd mounts(sys::OpenMountNamespace(sandbox.pid));
  if (!mounts.valid()) return;
  KeeperTask task{};
  task.kind = KeeperTask::Kind::kLetGo;
  const int fds[] = {sandbox.pidfd.get(), mounts.get()};
  sys::SendMessage(keeper_.get(), &task, sizeof task, fds);
}

}  // namespace cloche::spawn
