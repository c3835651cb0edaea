#include "spawn/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "sys/directory.h"
#include "sys/file.h"
#include "sys/message.h"
#include "sys/process.h"
#include "sys/watch_reserve.h"

namespace cloche::spawn {
namespace {

constexpr size_t kMaxCounted = 200000;
constexpr int kGrowIntervalMs = 250;
// Removing files and groups waits until the machine is briefly idle, but not forever.
constexpr int kQuietMs = 15;
constexpr size_t kMostWaiting = 64;

// Walks an upper written by an attacker: fds only, no symlink followed, bounded.
class ChangeCount {
 public:
  ChangeCount(SpawnReply& reply, bool user_xattr)
      : reply_(reply), origin_(user_xattr ? "user.overlay.origin" : "trusted.overlay.origin") {}

  void Upper(int upper) {
    sys::Directory slots(upper, ".");
    while (const dirent* slot = slots.Next()) {
      std::string path = std::string(slot->d_name) + "/u";
      sys::Fd top(openat(upper, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (top.valid()) Tree(std::move(top));
    }
  }

 private:
  void Tree(sys::Fd top) {
    std::vector<sys::Fd> pending;
    pending.push_back(std::move(top));
    while (!pending.empty() && seen_ < kMaxCounted) {
      sys::Fd here = std::move(pending.back());
      pending.pop_back();
      sys::Directory list(std::move(here));
      while (const dirent* entry = list.Next()) {
        ++seen_;
        struct stat info;
        if (fstatat(list.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
        if (S_ISCHR(info.st_mode) && info.st_rdev == 0) {
          ++reply_.deleted;
        } else if (S_ISDIR(info.st_mode)) {
          sys::Fd child(
              openat(list.fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
          if (!child.valid()) continue;
          bool copied = sys::HasAttribute(child.get(), origin_);
          if (!copied) ++reply_.added;
          if (pending.size() < 512) pending.push_back(std::move(child));
        } else {
          Count(list.fd(), entry->d_name, info);
        }
      }
    }
  }

  void Count(int dir, const char* name, const struct stat& info) {
    bool copied = false;
    if (S_ISREG(info.st_mode)) {
      sys::Fd file(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      copied = file.valid() && sys::HasAttribute(file.get(), origin_);
      reply_.changed_bytes += static_cast<uint64_t>(info.st_blocks) * 512;
    }
    ++(copied ? reply_.changed : reply_.added);
  }

  SpawnReply& reply_;
  const char* origin_;
  size_t seen_ = 0;
};

// The last holder of a mount namespace takes its mounts down, along with the kernel's caches of
// their files: seconds for a million. A separate process takes that on by exiting.
pid_t LetGo(sys::Fd init, sys::Fd mounts, int daemon, int tasks) {
  sys::Fd ours, theirs;
  if (sys::MakeSocketPair(ours, theirs) < 0) return -1;
  const pid_t last = fork();
  if (last != 0) {
    mounts.Reset();  // before `ours`
    return last;
  }
  for (const int fd : {ours.Release(), daemon, tasks}) close(fd);
  for (const int fd : {theirs.get(), init.get()}) {  // until nobody else holds it
    pollfd wait{fd, POLLIN, 0};
    while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
    }
  }
  _exit(0);
}

[[noreturn]] void RunKeeper(Store& store, sys::CgroupTree& cgroups, int daemon, int tasks) {
  sys::DieWithParent();
  sys::ForgetWatches();
  store.FindStaleGroups();
  (void)store.EmptyTrash(-1);
  std::vector<std::string> groups;  // new, or still busy
  std::vector<pid_t> others;        // processes that let go
  bool sweep = false, leaving = false;
  uint64_t next_growth = 0;
  while (!leaving) {
    pollfd wait{tasks, POLLIN, 0};
    int ready = poll(&wait, 1, sweep || !groups.empty() ? kQuietMs : kGrowIntervalMs);
    if (ready < 0 && errno != EINTR) _exit(1);
    if (uint64_t now = sys::MonotonicMicros(); now >= next_growth) {
      store.GrowIfNeeded();
      store.DropStaleGroups();
      next_growth = now + kGrowIntervalMs * 1000;
    }
    while (ready > 0) {
      KeeperTask task{};
      int fds[2];
      int fd_count = 0;
      long got = sys::ReceiveMessage(tasks, &task, sizeof task, fds, fd_count, true);
      if (got == 0) {
        leaving = true;
        break;
      }
      if (got != static_cast<long>(sizeof task)) break;
      if (task.kind == KeeperTask::Kind::kCount && fd_count == 1) {
        SpawnReply reply{};
        reply.op = SpawnOp::kReply;
        reply.number = task.number;
        reply.flags = task.flags;
        memcpy(reply.sandbox, task.sandbox, sizeof reply.sandbox);
        sys::Fd upper(fds[0]);
        ChangeCount(reply, task.user_xattr != 0).Upper(upper.get());
        sys::SendMessage(daemon, &reply, sizeof reply);
      } else if (task.kind == KeeperTask::Kind::kSweep) {
        task.cgroup[sizeof task.cgroup - 1] = '\0';
        if (task.cgroup[0] != '\0') groups.push_back(task.cgroup);
        sweep = true;
      } else if (task.kind == KeeperTask::Kind::kLetGo && fd_count == 2) {
        const pid_t pid = LetGo(sys::Fd(fds[0]), sys::Fd(fds[1]), daemon, tasks);
        if (pid > 0) others.push_back(pid);
      }
    }
    std::erase_if(others,
                  [&](pid_t pid) { return waitpid(pid, nullptr, leaving ? 0 : WNOHANG) == pid; });
    if (ready > 0 && !leaving && groups.size() < kMostWaiting) continue;
    std::erase_if(groups, [&](const std::string& name) { return cgroups.Remove(name) != -EBUSY; });
    sweep = (sweep || leaving) && !store.EmptyTrash(leaving ? -1 : tasks);
  }
  _exit(0);
}

}  // namespace

sys::Fd StartKeeper(Store& store, sys::CgroupTree& cgroups, int daemon, pid_t& pid) {
  sys::Fd ours, theirs;
  if (sys::MakeSocketPair(ours, theirs) < 0) return sys::Fd();
  pid = fork();
  if (pid == 0) {
    ours.Reset();
    RunKeeper(store, cgroups, daemon, theirs.get());
  }
  return pid > 0 ? std::move(ours) : sys::Fd();
}

}  // namespace cloche::spawn
