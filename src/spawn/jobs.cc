#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "spawn/check.h"
#include "spawn/server.h"
#include "sys/file.h"
#include "sys/message.h"
#include "sys/process.h"
#include "sys/watch_reserve.h"

// Saves, restores and copies states. Each job is its own process, so that spawn's loop never waits
// for a disk. Its answer is passed on once it is gone, so that the recipient may ask for the next
// thing.
namespace cloche::spawn {
namespace {

constexpr int64_t kMuchDirty = 4 << 20;
constexpr size_t kMaxIds = 32 << 20;
constexpr ptrdiff_t kMostJobs = 64;  // at once; others queue
constexpr size_t kMostQueued = 10000;
constexpr uint32_t kMostGroups = 1 << 30;

bool TouchesState(SpawnOp op) {
  return op == SpawnOp::kSnapshot || op == SpawnOp::kRollback || op == SpawnOp::kFork ||
         op == SpawnOp::kDropSnapshot || op == SpawnOp::kFlatten;
}

// The snapshot that a request touches.
std::string SnapshotOf(const SpawnRequest& request) {
  switch (request.op) {
    case SpawnOp::kSnapshot:
    case SpawnOp::kRollback:
    case SpawnOp::kFork:
    case SpawnOp::kDropSnapshot:
    case SpawnOp::kFlatten:
      return BodyOf<ask::Snapshot>(request).snapshot.str();  // all of them begin with it
    default:
      return "";
  }
}

// Two of them at once would interfere. A state being removed is unused, so others may run beside
// it.
bool Disturbs(const SpawnRequest& one, const SpawnRequest& other) {
  if (!TouchesState(one.op)) return false;
  if (one.op == SpawnOp::kDropSnapshot || other.op == SpawnOp::kDropSnapshot)
    return SnapshotOf(one) == SnapshotOf(other);
  return strcmp(one.sandbox, other.sandbox) == 0;
}

uint32_t MicrosSince(uint64_t start) {
  return static_cast<uint32_t>(sys::MonotonicMicros() - start);
}

}  // namespace

SpawnReply ReplyTo(const SpawnRequest& request) {
  SpawnReply reply{};
  reply.op = SpawnOp::kReply;
  reply.number = request.number;
  memcpy(reply.sandbox, request.sandbox, sizeof reply.sandbox);
  return reply;
}

SpawnReply FailureReply(const SpawnRequest& request, const Failure& failure) {
  SpawnReply reply = ReplyTo(request);
  reply.value = failure.error == 0 ? EIO : failure.error;
  reply.step = failure.step;
  snprintf(reply.operation, sizeof reply.operation, "%s", failure.operation.c_str());
  snprintf(reply.detail, sizeof reply.detail, "%s", failure.detail.c_str());
  return reply;
}

OrFailure<void> Server::CheckUndisturbed(const SpawnRequest& request) const {
  for (const auto& [pid, job] : jobs_)
    if (Disturbs(job.request, request))
      return Failed(SpawnStep::kPool, "sandbox is busy", EBUSY, request.sandbox);
  return {};
}

OrFailure<void> Server::CheckJob(const SpawnRequest& request) const {
  const std::string snapshot = SnapshotOf(request);
  if (!IsSnapshotId(snapshot) || (request.op == SpawnOp::kRollback &&
                                  !IsSnapshotId(BodyOf<ask::Rollback>(request).left.str())))
    return Failed(SpawnStep::kPlan, "snapshot id", EINVAL, snapshot);
  if (queued_.size() >= kMostQueued) return Failed(SpawnStep::kPool, "too many at once", EAGAIN);
  if (auto free = CheckUndisturbed(request); !free) return free;
  const bool runs = ids_.contains(request.sandbox);
  if (runs && request.op != SpawnOp::kSnapshot && request.op != SpawnOp::kDropSnapshot)
    return Failed(SpawnStep::kPlan, "sandbox runs", EBUSY, request.sandbox);
  return {};
}

void Server::StartJob(const SpawnRequest& request) {
  if (auto checked = CheckJob(request); !checked) return Answer(request, &checked.error());
  const auto counts = [](const auto& job) { return TouchesState(job.second.request.op); };
  if (std::ranges::count_if(jobs_, counts) >= kMostJobs) return queued_.push_back(request);
  std::string cgroup;
  if (auto found = ids_.find(request.sandbox); found != ids_.end()) {
    const Sandbox& sandbox = alive_[found->second];
    if (sandbox.in_memory) {
      Failure failure{SpawnStep::kPool, "save what is in memory", EOPNOTSUPP, request.sandbox};
      return Answer(request, &failure);
    }
    if (cgroups_.host().version != sys::CgroupVersion::kNone) cgroup = sandbox.name;
  }
  StartProcess(request, cgroup, nullptr, std::nullopt, [&](int answer) {
    SpawnReply reply = ReplyTo(request);
    if (auto done = DoJob(request, cgroup, reply); !done)
      reply = FailureReply(request, done.error());
    return sys::SendMessage(answer, &reply, sizeof reply) > 0 ? 0 : 1;
  });
}

void Server::Flush(const SpawnRequest& request) {
  const auto flushes = [](const auto& job) { return job.second.request.op == SpawnOp::kFlush; };
  Failure failure{SpawnStep::kPool, "flush twice at once", EBUSY, ""};
  if (std::ranges::any_of(jobs_, flushes)) return Answer(request, &failure);
  StartProcess(request, "", nullptr, std::nullopt, [&](int answer) {
    (void)syncfs(store_.root());  // a save reports what cannot be written
    const SpawnReply reply = ReplyTo(request);
    return sys::SendMessage(answer, &reply, sizeof reply) > 0 ? 0 : 1;
  });
}

// The kernel takes its time to move a process, so another process waits for it.
void Server::Divide(const SpawnRequest& request) {
  auto found = ids_.find(request.sandbox);
  const bool grouped = cgroups_.host().version != sys::CgroupVersion::kNone;
  Failure failure{SpawnStep::kCgroup, "divide what does not run", ESRCH, request.sandbox};
  const uint32_t group = BodyOf<ask::Divide>(request).group;
  if (found == ids_.end() || !grouped || group == 0 || group > kMostGroups)
    return Answer(request, &failure);
  const Sandbox& sandbox = alive_[found->second];
  const uint64_t memory = sandbox.limits ? sandbox.limits->memory_bytes : 0;
  StartProcess(request, "", nullptr, std::nullopt, [&](int answer) {
    SpawnReply reply = ReplyTo(request);
    std::string at;
    if (int error = cgroups_.Divide(sandbox.name, group, sandbox.pid, memory, at); error < 0)
      reply = FailureReply(request, {SpawnStep::kCgroup, "divide memory", -error, at});
    return sys::SendMessage(answer, &reply, sizeof reply) > 0 ? 0 : 1;
  });
}

void Server::StartProcess(const SpawnRequest& request, const std::string& cgroup,
                          std::shared_ptr<Mask> mask, std::optional<uid_t> reads_for,
                          const std::function<int(int)>& work) {
  sys::Fd ours, theirs;
  const pid_t pid = sys::MakeSocketPair(ours, theirs) == 0 ? fork() : -1;
  if (pid == 0) {
    sys::DieWithParent();
    sys::ForgetWatches();
    _exit(work(theirs.get()));
  }
  Job job{request, cgroup, sys::Fd(pid > 0 ? sys::OpenPidfd(pid) : -1), std::move(ours),
          std::move(mask)};
  epoll_event event{EPOLLIN, {.u64 = static_cast<uint64_t>(pid) | kJobBit}};
  if (pid > 0 && job.pidfd.valid() &&
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, job.pidfd.get(), &event) == 0) {
    jobs_.emplace(pid, std::move(job));
    if (reads_for) readers_.emplace(pid, *reads_for);
    return;
  }
  Failure failure{SpawnStep::kPool, "start a process", errno, request.sandbox};
  if (pid > 0) kill(pid, SIGKILL);
  if (pid > 0) waitpid(pid, nullptr, 0);
  if (!cgroup.empty()) cgroups_.Thaw(cgroup);
  workshop_.ReleaseMask(std::move(job.mask));
  Answer(request, &failure);
}

OrFailure<void> Server::DoJob(const SpawnRequest& request, const std::string& cgroup,
                              SpawnReply& reply) {
  const uint64_t start = sys::MonotonicMicros();
  const std::string snapshot = SnapshotOf(request);
  auto done =
      request.op == SpawnOp::kSnapshot ? SaveFrozen(request, cgroup, reply)
      : request.op == SpawnOp::kRollback
          ? store_.Rollback(request.sandbox, snapshot, BodyOf<ask::Rollback>(request).left.str())
      : request.op == SpawnOp::kFork ? store_.Fork(snapshot, request.sandbox)
                                     : store_.DropSnapshot(snapshot);
  if (request.op != SpawnOp::kSnapshot) reply.timing_us[kTimeSave] = MicrosSince(start);
  return done;
}

// The snapshot includes what was written before the freeze, and nothing written after it.
OrFailure<void> Server::SaveFrozen(const SpawnRequest& request, const std::string& cgroup,
                                   SpawnReply& reply) {
  uint64_t start = sys::MonotonicMicros();
  const std::string snapshot = SnapshotOf(request);
  if (cgroup.empty()) {
    auto saved = store_.Snapshot(request.sandbox, snapshot);
    reply.timing_us[kTimeSave] = MicrosSince(start);
    return saved;
  }
  // Write most of the dirty data while the sandbox still runs.
  if (cgroups_.DirtyBytes(cgroup) > kMuchDirty) syncfs(store_.root());
  reply.timing_us[kTimeFlush] = MicrosSince(start);
  start = sys::MonotonicMicros();
  // The sandbox may end meanwhile: if its group is gone, nobody writes any more.
  const std::string group = cgroups_.host().unified + cgroups_.PathOf(cgroup);
  const auto is_gone = [&] { return access(group.c_str(), F_OK) < 0 && errno == ENOENT; };
  if (int error = cgroups_.Freeze(cgroup, kFreezeMs); error < 0 && !is_gone())
    return Failed(SpawnStep::kCgroup, "freeze", error, request.sandbox);
  reply.timing_us[kTimeFreeze] = MicrosSince(start);
  start = sys::MonotonicMicros();
  auto saved = store_.Snapshot(request.sandbox, snapshot);
  const int thawed = cgroups_.Thaw(cgroup);
  reply.timing_us[kTimeSave] = MicrosSince(start);
  if (saved && thawed < 0 && !is_gone())
    return Failed(SpawnStep::kCgroup, "thaw", thawed, request.sandbox);
  return saved;
}

void Server::JobEnded(pid_t pid) {
  int status = 0;
  auto found = jobs_.find(pid);
  if (found == jobs_.end() || waitpid(pid, &status, WNOHANG) != pid) return;
  Job job = std::move(found->second);
  jobs_.erase(found);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, job.pidfd.get(), nullptr);
  readers_.erase(pid);
  workshop_.ReleaseMask(std::move(job.mask));
  const bool read = job.request.op == SpawnOp::kPromote || job.request.op == SpawnOp::kFlatten;
  if (read && !job.cgroup.empty()) cgroups_.Thaw(job.cgroup);
  Conclude(job, status);
  if (job.request.op != SpawnOp::kFlush && job.request.op != SpawnOp::kDivide)
    Sweep("");  // these leave nothing behind
  if (queued_.empty()) return;
  const SpawnRequest next = queued_.front();
  queued_.pop_front();
  StartJob(next);
}

// The program that a job became, which answers through its own descriptors; "" = none.
std::string Server::HelperOf(SpawnOp op) {
  switch (op) {
    case SpawnOp::kDiff:
    case SpawnOp::kStaleness:
      return "cloche-diff";
    case SpawnOp::kPromote:
    case SpawnOp::kBirthNote:
      return "cloche-promote";
    case SpawnOp::kEgress:
      return "cloche-egress";
    case SpawnOp::kSign:
      return "cloche-sign";
    default:
      return "";
  }
}

void Server::ConcludeHelper(const Job& job, const std::string& program, int status) {
  if (status == 0) return Answer(job.request, nullptr);
  Failure failure{SpawnStep::kPool, program + " failed", EIO, job.request.sandbox};
  if (job.request.op == SpawnOp::kEgress || job.request.op == SpawnOp::kSign)
    failure = {SpawnStep::kNetwork, program + " failed", EIO, ""};
  if (WIFSIGNALED(status)) {
    failure.operation = program + " was killed";
    if (failure.detail.empty()) failure.detail = "signal " + std::to_string(WTERMSIG(status));
  }
  if (job.request.op == SpawnOp::kPromote && WIFEXITED(status)) {
    if (WEXITSTATUS(status) == kTooMuch)
      failure = {SpawnStep::kPool, "read while it stands still", E2BIG, job.request.sandbox};
    if (WEXITSTATUS(status) == kRenamed)
      failure = {SpawnStep::kPool, "read renamed directories", EXDEV, job.request.sandbox};
  }
  Refuse(job.request, failure);
}

// A flattening job must clean up, so it gets SIGTERM.
void Server::EndJob(uint64_t number) {
  for (auto& [pid, job] : jobs_) {
    const bool flattens = job.request.op == SpawnOp::kFlatten;
    if (job.request.number == number && (flattens || !HelperOf(job.request.op).empty()))
      sys::PidfdSignal(job.pidfd.get(), flattens ? SIGTERM : SIGKILL);
  }
}

void Server::ThawJob(uint64_t number) {
  for (auto& [pid, job] : jobs_) {
    if (job.request.number != number || job.request.op != SpawnOp::kPromote) continue;
    if (!job.cgroup.empty()) cgroups_.Thaw(job.cgroup);
    job.cgroup.clear();
  }
}

void Server::Conclude(const Job& job, int status) {
  if (const std::string program = HelperOf(job.request.op); !program.empty())
    return ConcludeHelper(job, program, status);
  SpawnReply reply{};
  int fds[6];
  int fd_count = 0;
  if (status == 0 && sys::ReceiveMessage(job.answer.get(), &reply, sizeof reply, fds, fd_count,
                                         true) == static_cast<long>(sizeof reply)) {
    Failure failure{SpawnStep::kNamespaces, "hand over", ETOOMANYREFS, job.request.sandbox};
    if (!Tell(reply, std::span<const int>(fds, static_cast<size_t>(fd_count))))
      Answer(job.request, &failure);
    for (int i = 0; i < fd_count; ++i) close(fds[i]);
    return;
  }
  // Killed halfway: it may have left everything frozen, and its result half made.
  if (!job.cgroup.empty()) cgroups_.Thaw(job.cgroup);
  Failure failure{SpawnStep::kPool, "a process of ours was killed", EINTR, job.request.sandbox};
  OrFailure<void> reverted;
  if (job.request.op == SpawnOp::kSnapshot || job.request.op == SpawnOp::kDropSnapshot)
    reverted = store_.RevertSnapshot(SnapshotOf(job.request));
  else if (job.request.op == SpawnOp::kRollback)
    reverted =
        store_.RevertRollback(job.request.sandbox, BodyOf<ask::Rollback>(job.request).left.str());
  else if (job.request.op == SpawnOp::kFork)
    reverted = store_.RevertFork(job.request.sandbox);
  Answer(job.request, reverted ? &failure : &reverted.error());
}

void Server::Retain(const SpawnRequest& request, std::span<const int> fds) {
  auto outcome = [&]() -> OrFailure<std::vector<std::string>> {
    std::string text;
    if (int error = fds.size() != 1 ? -EBADMSG : sys::ReadSealed(fds[0], text, kMaxIds); error < 0)
      return Failed(SpawnStep::kPlan, "read list", error);
    std::vector<std::string> known;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      known.push_back(text.substr(at, end - at));
      if (!IsSnapshotId(known.back()))
        return Failed(SpawnStep::kPlan, "snapshot id", EINVAL, known.back());
      at = end + 1;
    }
    return store_.Retain(std::move(known));
  }();
  if (!outcome) return Answer(request, &outcome.error());
  std::string text;
  for (const std::string& id : *outcome) text += id + "\n";
  sys::Fd memory(sys::SealedMemfd("missing", text.data(), text.size()));
  Failure failure{SpawnStep::kPool, "answer", ENOMEM, ""};
  if (!memory.valid()) return Answer(request, &failure);
  const int answer[] = {memory.get()};
  if (!Tell(ReplyTo(request), answer)) Answer(request, &failure);
  Sweep("");
}

}  // namespace cloche::spawn
