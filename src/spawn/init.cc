// Pid 1 of a sandbox: starts the commands it is handed, reaps, reports. It runs inside every layer
// it imposes, allocates nothing, and trusts nothing that commands can write.
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>

#include "base/command_image.h"
#include "spawn/child.h"
#include "spawn/kill_group.h"
#include "spawn/owner.h"
#include "spawn/pause.h"
#include "sys/message.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

constexpr uint32_t kMaxStrings = 1 << 17;
constexpr uint32_t kMaxImage = 8 << 20;
constexpr size_t kMaxRunning = 1024;
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Running {
  uint32_t command = 0;
  pid_t pid = 0;  // 0 = free
};
Running running[kMaxRunning];

// A packet from the control socket: a message and, after it, a small image.
struct Packet {
  InitMessage message;
  char image[kInlineImage];
};
Packet packet;
char* few_pointers[1024];

// A command image, checked once: every offset lies inside and every string ends inside.
struct Image {
  const CommandHeader* head = nullptr;
  char* bytes = nullptr;
  char** pointers = nullptr;  // argv, nullptr, env, nullptr
  size_t pointer_bytes = 0;   // if mapped
  size_t size = 0;
  char** argv() const { return pointers; }
  char** env() const { return pointers + head->argc + 1; }
};

bool MapImage(int fd, Image& image) {
  struct stat info;
  if (fstat(fd, &info) < 0 || info.st_size == 0 || info.st_size > kMaxImage) return false;
  image.size = static_cast<size_t>(info.st_size);
  void* mapped = mmap(nullptr, image.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return false;
  image.bytes = static_cast<char*>(mapped);
  return true;
}

bool CheckImage(Image& image) {
  if (image.size < sizeof(CommandHeader)) return false;
  image.head = reinterpret_cast<const CommandHeader*>(image.bytes);
  const CommandHeader& head = *image.head;
  if (head.magic != CommandHeader{}.magic || head.total != image.size || head.argc == 0 ||
      head.argc > kMaxStrings || head.envc > kMaxStrings)
    return false;
  size_t count = head.argc + head.envc;
  size_t text_start = sizeof head + 4 * count;
  if (text_start >= image.size || image.bytes[image.size - 1] != '\0') return false;
  auto inside = [&](uint32_t offset) { return offset >= text_start && offset < image.size; };
  if (!inside(head.cwd) || (head.other_cwd != 0 && !inside(head.other_cwd))) return false;

  image.pointers = few_pointers;
  if (count + 2 > std::size(few_pointers)) {
    image.pointer_bytes = (count + 2) * sizeof(char*);
    void* mapped = mmap(nullptr, image.pointer_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      image.pointer_bytes = 0;
      return false;
    }
    image.pointers = static_cast<char**>(mapped);
  }
  image.pointers[head.argc] = image.pointers[count + 1] = nullptr;
  const uint32_t* offsets = reinterpret_cast<const uint32_t*>(image.bytes + sizeof head);
  for (size_t i = 0; i < count; ++i) {
    if (!inside(offsets[i])) return false;
    image.pointers[i < head.argc ? i : i + 1] = image.bytes + offsets[i];
  }
  return true;
}

void UnmapImage(Image& image) {
  if (image.bytes && image.bytes != packet.image) munmap(image.bytes, image.size);
  if (image.pointer_bytes != 0) munmap(static_cast<void*>(image.pointers), image.pointer_bytes);
  image = {};
}

void Reply(int control, const InitMessage& message, std::span<const int> fds = {}) {
  // A daemon that misses a message would wait forever; it cannot miss the end of init.
  if (sys::SendMessage(control, &message, sizeof message, fds) < 0) _exit(1);
}

// Both ends of a command's streams: its 0, 1 and 2, and the daemon's ends.
struct Streams {
  int theirs[3] = {-1, -1, -1};
  int ours[3] = {-1, -1, -1};
  size_t our_count = 0;

  ~Streams() {
    for (int fd : theirs)
      if (fd >= 0) close(fd);
    for (int fd : ours)
      if (fd >= 0) close(fd);
  }
};

bool OpenPipes(bool with_stdin, Streams& streams) {
  for (int i : {1, 2, 0}) {
    if (i == 0 && !with_stdin) {
      streams.theirs[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
      return streams.theirs[0] >= 0;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return false;
    streams.theirs[i] = ends[i == 0 ? 0 : 1];
    streams.ours[streams.our_count++] = ends[i == 0 ? 1 : 0];
  }
  return true;
}

// Written by the vforked child, which shares our memory until it execs.
struct ExecFailure {
  volatile uint32_t step = 0;
  volatile int error = 0;
};

[[noreturn]] void GiveUp(ExecFailure& failure, ExecStep step) {
  failure.error = errno;
  failure.step = static_cast<uint32_t>(step);
  _exit(127);
}

void SetLimit(__rlimit_resource_t resource, uint64_t value, ExecFailure& failure) {
  if (value == 0) return;
  rlimit limit{};
  if (getrlimit(resource, &limit) < 0) GiveUp(failure, ExecStep::kLimits);
  if (limit.rlim_max == RLIM_INFINITY || value < limit.rlim_max) limit.rlim_max = value;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(resource, &limit) < 0) GiveUp(failure, ExecStep::kLimits);
}

const char* FindPath(char* const* env) {
  for (; *env; ++env)
    if (strncmp(*env, "PATH=", 5) == 0) return *env + 5;
  return kDefaultPath;
}

// execvp without the allocation, and with the errno a shell would report.
void Execute(const Image& image) {
  const char* name = image.argv()[0];
  if (strchr(name, '/')) {
    execve(name, image.argv(), image.env());
    return;
  }
  int remembered = ENOENT;
  char candidate[4096];
  size_t name_size = strlen(name);
  if (name_size == 0) {
    errno = ENOENT;
    return;
  }
  for (const char* at = FindPath(image.env()); at;) {
    size_t size = strcspn(at, ":");
    if (size + name_size + 2 <= sizeof candidate) {
      memcpy(candidate, size == 0 ? "." : at, size == 0 ? 1 : size);
      size_t used = size == 0 ? 1 : size;
      candidate[used] = '/';
      memcpy(candidate + used + 1, name, name_size + 1);
      execve(candidate, image.argv(), image.env());
      if (errno != ENOENT && errno != ENOTDIR) remembered = errno;
      if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
    }
    at = at[size] == ':' ? at + size + 1 : nullptr;
  }
  errno = remembered;
}

[[noreturn]] void BecomeCommand(const Image& image, const int (&stdio)[3], ExecFailure& failure) {
  if (setsid() < 0) GiveUp(failure, ExecStep::kSession);
  bool pty = (image.head->flags & kCommandPty) != 0;
  for (int i = 0; i < 3; ++i)
    if (dup2(stdio[pty ? 0 : i], i) < 0) GiveUp(failure, ExecStep::kSession);
  if (pty && ioctl(0, TIOCSCTTY, 0) < 0) GiveUp(failure, ExecStep::kSession);
  sys::CloseFrom(3);
  SetLimit(RLIMIT_NOFILE, image.head->open_files, failure);
  SetLimit(RLIMIT_NPROC, image.head->processes, failure);
  SetLimit(RLIMIT_FSIZE, image.head->file_bytes, failure);
  if (chdir(image.bytes + image.head->cwd) < 0 &&
      (image.head->other_cwd == 0 || chdir(image.bytes + image.head->other_cwd) < 0))
    GiveUp(failure, ExecStep::kDirectory);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  Execute(image);
  GiveUp(failure, ExecStep::kExec);
}

bool OpenPty(int pts, const Image& image, Streams& streams) {
  int master = openat(pts, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return false;
  streams.ours[streams.our_count++] = master;
  int unlock = 0;
  if (ioctl(master, TIOCSPTLCK, &unlock) < 0) return false;
  streams.theirs[0] = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (streams.theirs[0] < 0) return false;
  winsize size{};
  size.ws_row = image.head->rows;
  size.ws_col = image.head->columns;
  ioctl(master, TIOCSWINSZ, &size);
  return true;
}

// `image_fd` is -1 if the image is in the packet, `inline_size` bytes long.
void StartCommand(int control, int pts, const InitMessage& request, int image_fd,
                  size_t inline_size) {
  InitMessage reply{};
  reply.command = request.command;
  reply.op = InitOp::kFailed;
  auto fail = [&](ExecStep step, int error) {
    reply.step = static_cast<uint32_t>(step);
    reply.value = error;
    Reply(control, reply);
  };

  Running* slot = nullptr;
  for (Running& candidate : running)
    if (candidate.pid == 0) {
      slot = &candidate;
      break;
    }
  if (!slot) return fail(ExecStep::kFork, EAGAIN);

  Image image;
  if (image_fd < 0) {
    image.bytes = packet.image;
    image.size = inline_size;
  }
  if ((image_fd >= 0 && !MapImage(image_fd, image)) || !CheckImage(image)) {
    UnmapImage(image);
    return fail(ExecStep::kImage, EINVAL);
  }
  const bool pty = (image.head->flags & kCommandPty) != 0;
  Streams streams;
  if (!(pty ? OpenPty(pts, image, streams)
            : OpenPipes((image.head->flags & kCommandStdin) != 0, streams))) {
    int error = errno;
    UnmapImage(image);
    return fail(ExecStep::kStreams, error);
  }
  ExecFailure failure;
  pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions,clang-analyzer-*): no copy of our memory
  if (pid == 0) BecomeCommand(image, streams.theirs, failure);  // NOLINT(clang-analyzer-*)
  int fork_error = errno;
  UnmapImage(image);
  if (pid < 0) {
    fail(ExecStep::kFork, fork_error);
  } else if (failure.step != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    fail(static_cast<ExecStep>(failure.step), failure.error);
  } else {
    *slot = {request.command, pid};
    reply.op = InitOp::kStarted;
    reply.pid = pid;
    const long sent = sys::SendMessage(control, &reply, sizeof reply,
                                       std::span<const int>(streams.ours, streams.our_count));
    if (sent == -ETOOMANYREFS) {  // rootless: another sandbox of the user used them up
      *slot = {};
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      reply.op = InitOp::kFailed;
      reply.pid = 0;
      return fail(ExecStep::kStreams, ETOOMANYREFS);
    }
    if (sent < 0) _exit(1);  // as in Reply
  }
}

void Reap(int control) {
  for (;;) {
    int status = 0;
    rusage usage{};
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return;
    for (Running& slot : running) {
      if (slot.pid != pid) continue;
      InitMessage report{};
      report.op = InitOp::kExited;
      report.command = slot.command;
      report.value = status;
      report.pid = pid;
      auto micros = [](const timeval& time) {
        return static_cast<uint64_t>(time.tv_sec) * 1000000 + static_cast<uint64_t>(time.tv_usec);
      };
      report.user_us = micros(usage.ru_utime);
      report.system_us = micros(usage.ru_stime);
      report.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
      report.blocks_in = static_cast<uint64_t>(usage.ru_inblock);
      report.blocks_out = static_cast<uint64_t>(usage.ru_oublock);
      slot.pid = 0;
      Reply(control, report);
      break;
    }
  }
}

void SignalCommand(const InitMessage& request) {
  for (const Running& slot : running)
    if (slot.pid != 0 && slot.command == request.command) kill(-slot.pid, request.value);
}

// Only for the one user that exists in here.
int ListenForSigners() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof kSignSocket <= sizeof address.sun_path);
  memcpy(address.sun_path, kSignSocket, sizeof kSignSocket);
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  unlink(kSignSocket);
  const mode_t before = umask(0177);
  const bool bound = bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  if (bound && listen(made, 16) == 0) return made;
  close(made);
  return -1;
}

}  // namespace

void RunInit(int control, int pts) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, nullptr);
  int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  fcntl(control, F_SETFD, FD_CLOEXEC);
  fcntl(pts, F_SETFD, FD_CLOEXEC);
  if (children < 0) _exit(1);
  for (;;) {
    pollfd waits[] = {{control, POLLIN, 0}, {children, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) _exit(1);
    if (waits[1].revents != 0) {
      signalfd_siginfo ignored;
      while (read(children, &ignored, sizeof ignored) > 0) {
      }
      Reap(control);
    }
    if (waits[0].revents == 0) continue;
    int fds[4];
    int fd_count = 0;
    long got = sys::ReceiveMessage(control, &packet, sizeof packet, fds, fd_count);
    if (got == 0 || got == -ECONNRESET) _exit(0);  // nobody is left to serve: the namespace ends
    if (got >= static_cast<long>(sizeof(InitMessage))) {
      const InitMessage request = packet.message;
      if (request.op == InitOp::kExec)
        StartCommand(control, pts, request, fd_count == 1 ? fds[0] : -1,
                     static_cast<size_t>(got) - sizeof request);
      if (request.op == InitOp::kSignal) SignalCommand(request);
      if (request.op == InitOp::kKillAll) kill(-1, SIGKILL);
      if (request.op == InitOp::kKillGroup) KillGroup(request.name, request.value == 1);
      if (request.op == InitOp::kPause) {
        InitMessage reply{};
        reply.op = InitOp::kPaused;
        reply.value = PauseOthers() ? 1 : 0;
        Reply(control, reply);
      }
      if (request.op == InitOp::kResume) ResumeOthers();
      if (request.op == InitOp::kOwner) {
        InitMessage reply{};
        reply.op = InitOp::kOwner;
        reply.value = request.value;
        reply.pid = FindSocketOwner(static_cast<uint16_t>(request.value), reply.name);
        Reply(control, reply);
      }
      if (request.op == InitOp::kSocket || request.op == InitOp::kListen) {
        InitMessage reply{};
        reply.op = request.op;
        const int made = request.op == InitOp::kListen
                             ? ListenForSigners()
                             : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        Reply(control, reply, std::span<const int>(&made, made >= 0 ? 1 : 0));
        close(made);
      }
      if (request.op == InitOp::kNetlink) {
        InitMessage reply{};
        reply.op = request.op;
        reply.command = request.command;
        const int made = socket(AF_NETLINK, request.value | SOCK_CLOEXEC, NETLINK_ROUTE);
        reply.value = made < 0 ? errno : 0;
        if (made < 0 || sys::SendMessage(control, &reply, sizeof reply, {&made, 1}) < 0) {
          if (made >= 0) reply.value = ETOOMANYREFS;  // as in StartCommand
          Reply(control, reply);
        }
        if (made >= 0) close(made);
      }
      if (request.op == InitOp::kMounts) {
        InitMessage reply{};
        reply.op = InitOp::kMounts;
        const int mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
        Reply(control, reply, std::span<const int>(&mounts, mounts >= 0 ? 1 : 0));
        close(mounts);
      }
    }
    for (int i = 0; i < fd_count; ++i) close(fds[i]);
  }
}

}  // namespace cloche::spawn
