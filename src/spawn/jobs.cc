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

// Saving, restoring and copying states. Each is done by a process of its own: spawn's loop never
// waits for a disk. What it has to say is passed on when it is gone, so that whoever gets the
// answer may ask for the next thing.
namespace cloche::spawn {
namespace {

constexpr int64_t kMuchDirty = 4 << 20;
constexpr size_t kMaxIds = 32 << 20;
constexpr ptrdiff_t kMostJobs = 64;  // at once; more take turns
constexpr size_t kMostQueued = 10000;
constexpr uint64_t kMostGroups = 1 << 30;

bool TouchesState(SpawnOp op) {
  return op == SpawnOp::kSnapshot || op == SpawnOp::kRollback || op == SpawnOp::kFork ||
         op == SpawnOp::kDropSnapshot || op == SpawnOp::kFlatten;
}

// Two of them at once would mix. A state that is removed is nobody's: the others go on beside it.
bool Disturbs(const SpawnRequest& one, const SpawnRequest& other) {
  if (!TouchesState(one.op)) return false;
  if (one.op == SpawnOp::kDropSnapshot || other.op == SpawnOp::kDropSnapshot)
    return strcmp(one.snapshot, other.snapshot) == 0;
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
  reply.stage = failure.stage;
  snprintf(reply.operation, sizeof reply.operation, "%s", failure.operation.c_str());
  snprintf(reply.detail, sizeof reply.detail, "%s", failure.detail.c_str());
  return reply;
}

Outcome<void> Server::CheckUndisturbed(const SpawnRequest& request) const {
  for (const auto& [pid, job] : jobs_)
    if (Disturbs(job.request, request))
      return Failed(SpawnStage::kPool, "sandbox is busy", EBUSY, request.sandbox);
  return {};
}

Outcome<void> Server::CheckJob(const SpawnRequest& request) const {
  if (!IsSnapshotId(request.snapshot) ||
      (request.op == SpawnOp::kRollback && !IsSnapshotId(request.other)))
    return Failed(SpawnStage::kPlan, "snapshot id", EINVAL, request.snapshot);
  if (queued_.size() >= kMostQueued) return Failed(SpawnStage::kPool, "too many at once", EAGAIN);
  if (auto free = CheckUndisturbed(request); !free) return free;
  const bool runs = ids_.contains(request.sandbox);
  if (runs && request.op != SpawnOp::kSnapshot && request.op != SpawnOp::kDropSnapshot)
    return Failed(SpawnStage::kPlan, "sandbox runs", EBUSY, request.sandbox);
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
      Failure failure{SpawnStage::kPool, "save what is in memory", EOPNOTSUPP, request.sandbox};
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

void Server::Settle(const SpawnRequest& request) {
  const auto settles = [](const auto& job) { return job.second.request.op == SpawnOp::kSettle; };
  Failure failure{SpawnStage::kPool, "settle twice at once", EBUSY, ""};
  if (std::ranges::any_of(jobs_, settles)) return Answer(request, &failure);
  StartProcess(request, "", nullptr, std::nullopt, [&](int answer) {
    (void)syncfs(store_.root());  // who saves hears of what cannot be written
    const SpawnReply reply = ReplyTo(request);
    return sys::SendMessage(answer, &reply, sizeof reply) > 0 ? 0 : 1;
  });
}

// The kernel takes its time to move a process, so somebody else waits for it.
void Server::Divide(const SpawnRequest& request) {
  auto found = ids_.find(request.sandbox);
  const bool grouped = cgroups_.host().version != sys::CgroupVersion::kNone;
  Failure failure{SpawnStage::kCgroup, "divide what does not run", ESRCH, request.sandbox};
  if (found == ids_.end() || !grouped || request.argument == 0 || request.argument > kMostGroups)
    return Answer(request, &failure);
  const Sandbox& sandbox = alive_[found->second];
  const uint64_t memory = sandbox.limits ? sandbox.limits->memory_bytes : 0;
  StartProcess(request, "", nullptr, std::nullopt, [&](int answer) {
    SpawnReply reply = ReplyTo(request);
    std::string at;
    if (int error = cgroups_.Divide(sandbox.name, static_cast<uint32_t>(request.argument),
                                    sandbox.pid, memory, at);
        error < 0)
      reply = FailureReply(request, {SpawnStage::kCgroup, "divide memory", -error, at});
    return sys::SendMessage(answer, &reply, sizeof reply) > 0 ? 0 : 1;
  });
}

void Server::StartProcess(const SpawnRequest& request, const std::string& cgroup,
                          std::shared_ptr<Mask> mask, std::optional<uid_t> looker,
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
    if (looker) looks_.emplace(pid, *looker);
    return;
  }
  Failure failure{SpawnStage::kPool, "start a process", errno, request.sandbox};
  if (pid > 0) kill(pid, SIGKILL);
  if (pid > 0) waitpid(pid, nullptr, 0);
  if (!cgroup.empty()) cgroups_.Thaw(cgroup);
  workshop_.ReleaseMask(std::move(job.mask));
  Answer(request, &failure);
}

Outcome<void> Server::DoJob(const SpawnRequest& request, const std::string& cgroup,
                            SpawnReply& reply) {
  const uint64_t start = sys::MonotonicMicros();
  auto done = request.op == SpawnOp::kSnapshot ? SaveFrozen(request, cgroup, reply)
              : request.op == SpawnOp::kRollback
                  ? store_.Rollback(request.sandbox, request.snapshot, request.other)
              : request.op == SpawnOp::kFork ? store_.Fork(request.snapshot, request.sandbox)
                                             : store_.DropSnapshot(request.snapshot);
  if (request.op != SpawnOp::kSnapshot) reply.timing_us[kTimeSave] = MicrosSince(start);
  return done;
}

// What was written before the freeze is in it, and nothing that was written after.
Outcome<void> Server::SaveFrozen(const SpawnRequest& request, const std::string& cgroup,
                                 SpawnReply& reply) {
  uint64_t start = sys::MonotonicMicros();
  if (cgroup.empty()) {
    auto saved = store_.Snapshot(request.sandbox, request.snapshot);
    reply.timing_us[kTimeSave] = MicrosSince(start);
    return saved;
  }
  // Much that is not on disk yet gets there while the sandbox still runs.
  if (cgroups_.DirtyBytes(cgroup) > kMuchDirty) syncfs(store_.root());
  reply.timing_us[kTimeFlush] = MicrosSince(start);
  start = sys::MonotonicMicros();
  // The sandbox may end meanwhile: a group that is gone has nobody in it who writes.
  const std::string group = cgroups_.host().unified + cgroups_.PathOf(cgroup);
  const auto is_gone = [&] { return access(group.c_str(), F_OK) < 0 && errno == ENOENT; };
  if (int error = cgroups_.Freeze(cgroup, kFreezeMs); error < 0 && !is_gone())
    return Failed(SpawnStage::kCgroup, "freeze", error, request.sandbox);
  reply.timing_us[kTimeFreeze] = MicrosSince(start);
  start = sys::MonotonicMicros();
  auto saved = store_.Snapshot(request.sandbox, request.snapshot);
  const int thawed = cgroups_.Thaw(cgroup);
  reply.timing_us[kTimeSave] = MicrosSince(start);
  if (saved && thawed < 0 && !is_gone())
    return Failed(SpawnStage::kCgroup, "thaw", thawed, request.sandbox);
  return saved;
}

void Server::JobEnded(pid_t pid) {
  int status = 0;
  auto found = jobs_.find(pid);
  if (found == jobs_.end() || waitpid(pid, &status, WNOHANG) != pid) return;
  Job job = std::move(found->second);
  jobs_.erase(found);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, job.pidfd.get(), nullptr);
  looks_.erase(pid);
  workshop_.ReleaseMask(std::move(job.mask));
  const bool looked = job.request.op == SpawnOp::kLook || job.request.op == SpawnOp::kFlatten;
  if (looked && !job.cgroup.empty()) cgroups_.Thaw(job.cgroup);
  Conclude(job, status);
  if (job.request.op != SpawnOp::kSettle && job.request.op != SpawnOp::kDivide)
    Sweep("");  // those leave nothing behind
  if (queued_.empty()) return;
  const SpawnRequest next = queued_.front();
  queued_.pop_front();
  StartJob(next);
}

void Server::Conclude(const Job& job, int status) {
  if (job.request.op == SpawnOp::kLook) {
    const std::string program =
        (job.request.flags & kFlagPromote) != 0 ? "cloche-promote" : "cloche-diff";
    Failure failure{SpawnStage::kPool, program + " failed", EIO, job.request.sandbox};
    if (WIFSIGNALED(status)) failure.operation = program + " was killed";
    if (WIFEXITED(status) && WEXITSTATUS(status) == kTooMuch)
      failure = {SpawnStage::kPool, "look while it stands still", E2BIG, job.request.sandbox};
    if (WIFEXITED(status) && WEXITSTATUS(status) == kRenamed)
      failure = {SpawnStage::kPool, "look at renamed directories", EXDEV, job.request.sandbox};
    return Answer(job.request, status == 0 ? nullptr : &failure);
  }
  if (job.request.op == SpawnOp::kEgress || job.request.op == SpawnOp::kSign) {
    const std::string program = job.request.op == SpawnOp::kSign ? "cloche-sign" : "cloche-egress";
    Failure failure{SpawnStage::kNetwork, program + " failed", EIO, ""};
    if (WIFSIGNALED(status)) {
      failure.operation = program + " was killed";
      failure.detail = "signal " + std::to_string(WTERMSIG(status));
    }
    return Answer(job.request, status == 0 ? nullptr : &failure);
  }
  SpawnReply reply{};
  int fds[6];
  int fd_count = 0;
  if (status == 0 && sys::ReceiveMessage(job.answer.get(), &reply, sizeof reply, fds, fd_count,
                                         true) == static_cast<long>(sizeof reply)) {
    Failure failure{SpawnStage::kNamespaces, "hand over", ETOOMANYREFS, job.request.sandbox};
    if (!Tell(reply, std::span<const int>(fds, static_cast<size_t>(fd_count))))
      Answer(job.request, &failure);
    for (int i = 0; i < fd_count; ++i) close(fds[i]);
    return;
  }
  // Killed half-way: it may have left everything frozen, and half of what it was to make.
  if (!job.cgroup.empty()) cgroups_.Thaw(job.cgroup);
  Failure failure{SpawnStage::kPool, "a process of ours was killed", EINTR, job.request.sandbox};
  Outcome<void> reverted;
  if (job.request.op == SpawnOp::kSnapshot || job.request.op == SpawnOp::kDropSnapshot)
    reverted = store_.RevertSnapshot(job.request.snapshot);
  else if (job.request.op == SpawnOp::kRollback)
    reverted = store_.RevertRollback(job.request.sandbox, job.request.other);
  else if (job.request.op == SpawnOp::kFork)
    reverted = store_.RevertFork(job.request.sandbox);
  Answer(job.request, reverted ? &failure : &reverted.error());
}

void Server::Retain(const SpawnRequest& request, std::span<const int> fds) {
  auto outcome = [&]() -> Outcome<std::vector<std::string>> {
    std::string text;
    if (int error = fds.size() != 1 ? -EBADMSG : sys::ReadSealed(fds[0], text, kMaxIds); error < 0)
      return Failed(SpawnStage::kPlan, "read list", error);
    std::vector<std::string> known;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      known.push_back(text.substr(at, end - at));
      if (!IsSnapshotId(known.back()))
        return Failed(SpawnStage::kPlan, "snapshot id", EINVAL, known.back());
      at = end + 1;
    }
    return store_.Retain(std::move(known));
  }();
  if (!outcome) return Answer(request, &outcome.error());
  std::string text;
  for (const std::string& id : *outcome) text += id + "\n";
  sys::Fd memory(sys::SealedMemfd("missing", text.data(), text.size()));
  Failure failure{SpawnStage::kPool, "answer", ENOMEM, ""};
  if (!memory.valid()) return Answer(request, &failure);
  const int answer[] = {memory.get()};
  if (!Tell(ReplyTo(request), answer)) Answer(request, &failure);
  Sweep("");
}

}  // namespace cloche::spawn
