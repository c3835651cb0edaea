#include "service/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "service/data.h"
#include "service/process_table.h"
#include "sys/file.h"

namespace cloche::service {
namespace {

constexpr long kOptions = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
constexpr uint64_t kPatienceUs = 10'000'000;
constexpr int kMostRounds = 100;

long Trace(int request, int thread, long data) {
  return ptrace(static_cast<__ptrace_request>(request), thread, nullptr, data);
}

// It has ended, but its parent has not asked for its status yet. It cannot be traced.
bool IsDead(int process, const std::string& thread) {
  const std::string stat = ReadOf(process, ("task/" + thread + "/stat").c_str());
  const size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() || stat[end + 2] == 'Z' ||
         stat[end + 2] == 'X';
}

bool IsOurs(int thread) {
  const std::string status = ReadOf(thread, "status");
  return sys::NumberIn(status.c_str(), "TracerPid:") == getpid();
}

std::unexpected<Error> Refused(int process, int error) {
  if (error != EPERM)
    return Fail(Code::kUnavailable, fmt::format("pause process {}: {}", process, strerror(error)));
  return Fail(Code::kDenied, fmt::format("pause process {}: it may not be traced by you", process),
              "run it as root (sudo), without a debugger attached to the service; where "
              "kernel.yama.ptrace_scope is 1 or more only root may");
}

}  // namespace

Pause::~Pause() {
  for (const auto& [thread, signal] : stopped_) Trace(PTRACE_DETACH, thread, signal);
}

// A thread that was just born is traced already, because its parent is.
Status Pause::Seize(int thread, int process) {
  if (Trace(PTRACE_SEIZE, thread, kOptions) == 0) {
    if (Trace(PTRACE_INTERRUPT, thread, 0) < 0 && errno != ESRCH) return Refused(process, errno);
  } else if (errno == ESRCH) {
    return {};
  } else if (const int error = errno; error != EPERM || !IsOurs(thread)) {
    if (IsDead(process, std::to_string(thread))) return {};
    return Refused(process, error);
  }
  return Await(thread);
}

Status Pause::Await(int thread) {
  const uint64_t deadline = sys::MonotonicMicros() + kPatienceUs;
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(thread, &status, __WALL | WNOHANG);
    if (got < 0 && errno == ECHILD) return {};  // gone
    if (got == thread && (WIFEXITED(status) || WIFSIGNALED(status))) return {};
    if (got == thread && WIFSTOPPED(status)) {
      const bool signalled = status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP;
      stopped_[thread] = signalled ? WSTOPSIG(status) : 0;
      return {};
    }
    if (sys::MonotonicMicros() > deadline)
      return Fail(Code::kUnavailable,
                  fmt::format("pause thread {}: it did not stop within 10 s", thread),
                  "its disk may hang; try again later");
    const timespec moment{0, 200'000};
    nanosleep(&moment, nullptr);
  }
}

// Repeats until a complete pass finds nothing that still moves.
Status Pause::Stop(int pid, uint64_t started, const std::vector<std::string>& data) {
  // Only processes that may trace it can open this file: nobody else can make us wait.
  turn_ = sys::Fd(open(fmt::format("/proc/{}/environ", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (turn_.valid()) flock(turn_.get(), LOCK_EX);
  for (int round = 0; round < kMostRounds; ++round) {
    const ProcessTable table = ProcessTable::Read();
    const HostProcess* process = table.Find(pid);
    if (!process || process->started != started)
      return Fail(Code::kNotFound, fmt::format("pause process {}: it has ended", pid),
                  "start the service again, and then this");
    size_t found = 0;
    std::vector<int> members = table.Tree(pid);
    for (const int writer : WritersBelow(table, data))
      if (std::ranges::find(members, writer) == members.end()) members.push_back(writer);
    for (const int member : members)
      for (const std::string& name : ListOf(member, "task")) {
        const int thread = atoi(name.c_str());
        if (stopped_.contains(thread) || IsDead(member, name)) continue;
        ++found;
        CLOCHE_TRY(Seize(thread, member));
      }
    if (found == 0) return {};
  }
  return Fail(Code::kUnavailable, fmt::format("pause process {}: it starts others too fast", pid),
              "try again when it has less to do");
}

}  // namespace cloche::service
