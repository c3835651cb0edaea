#include "cli/connect.h"

#include <fmt/core.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/daemon_start.h"

namespace cloche::cli {
namespace {

constexpr const char* kSystemDirectory = "/run/cloche";
constexpr int kMostStarts = 3;
constexpr const char* kSocketName = "/cloched.sock";

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// errno is set when the result holds no fd.
sys::Fd TryConnect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  memcpy(address.sun_path, path.data(), path.size());
  sys::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return fd;
}

// cloche-spawn starts a sandbox and stays as the first of its processes.
bool InsideSandbox() {
  const sys::Fd file(open("/proc/1/comm", O_RDONLY | O_CLOEXEC));
  char name[32] = {};
  return file.valid() && read(file.get(), name, sizeof name - 1) > 0 &&
         std::string_view(name) == "cloche-spawn\n";
}

bool NobodyListens(int error) { return error == ENOENT || error == ECONNREFUSED; }

std::unexpected<Error> CannotConnect(const std::string& path, int error) {
  return Fail(Code::kUnavailable, fmt::format("connect to {}: {}", path, strerror(error)),
              error == ENAMETOOLONG ? "set CLOCHE_RUNTIME_DIR to a shorter path"
              : error == EACCES
                  ? "it is somebody else's: unset CLOCHE_SOCKET and CLOCHE_RUNTIME_DIR"
                  : "is it a socket of cloched? cloche status");
}

Status MakeDirectory(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return Fail(Code::kUnavailable, fmt::format("make directory {}: {}", path, strerror(errno)),
              "set CLOCHE_RUNTIME_DIR to a directory that can be written");
}

// Anybody can make a directory in /tmp, under our name too.
Status CheckPrivate(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
      (info.st_mode & 07777) == 0700)
    return {};
  return Fail(Code::kDenied, fmt::format("use {}: it is not a private directory of yours", path),
              fmt::format("remove it, or chmod 700 {} if it is yours", path));
}

bool OwnsDirectory(const std::string& path) {
  struct stat info {};
  return !path.empty() && stat(path.c_str(), &info) == 0 && info.st_uid == geteuid();
}

// The directory of a daemon of this user's own, made if need be.
Result<std::string> OwnDirectory() {
  if (const std::string given = Variable("CLOCHE_RUNTIME_DIR"); !given.empty()) {
    CLOCHE_TRY(MakeDirectory(given, geteuid() == 0 ? 0755 : 0700));
    return given;
  }
  if (geteuid() == 0) {
    CLOCHE_TRY(MakeDirectory(kSystemDirectory, 0755));
    return kSystemDirectory;
  }
  // After `su`, XDG_RUNTIME_DIR may still be somebody else's.
  if (const std::string runtime = Variable("XDG_RUNTIME_DIR"); OwnsDirectory(runtime)) {
    const std::string path = runtime + "/cloche";
    CLOCHE_TRY(MakeDirectory(path, 0700));
    return path;
  }
  const std::string path = fmt::format("/tmp/cloche-{}", geteuid());
  CLOCHE_TRY(MakeDirectory(path, 0700));
  CLOCHE_TRY(CheckPrivate(path));
  return path;
}

Result<sys::Fd> StartAndConnect(const std::string& path) {
  // Of several clients that find nobody, one starts the daemon and the others wait here.
  const std::string lock_path = path + ".lock";
  const sys::Fd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0)
    return Fail(Code::kUnavailable, fmt::format("lock {}: {}", lock_path, strerror(errno)),
                "set CLOCHE_RUNTIME_DIR to a directory that can be written");
  // A daemon that has just started may leave at once, because it saw no client yet.
  for (int attempt = 0;; ++attempt) {
    if (sys::Fd fd = TryConnect(path); fd.valid()) return fd;
    if (attempt == kMostStarts || !NobodyListens(errno)) return CannotConnect(path, errno);
    CLOCHE_TRY(StartDaemonAt(path));
  }
}

}  // namespace

Result<sys::Fd> ConnectToDaemon(StartDaemon start) {
  std::string path = Variable("CLOCHE_SOCKET");
  if (path.empty()) {
    if (InsideSandbox()) {
      const std::string id = Variable("CLOCHE_SANDBOX");
      return Fail(Code::kUnavailable,
                  fmt::format("you are inside {}: sandboxes do not nest",
                              id.empty() ? "a sandbox" : EscapeForTerminal(id)),
                  "run the command as it is; cloche itself is for the host, outside");
    }
    if (geteuid() != 0 && Variable("CLOCHE_RUNTIME_DIR").empty())
      if (sys::Fd fd = TryConnect(std::string(kSystemDirectory) + kSocketName); fd.valid())
        return fd;
    ASSIGN_OR_RETURN(const std::string directory, OwnDirectory());
    path = directory + kSocketName;
  }
  if (sys::Fd fd = TryConnect(path); fd.valid()) return fd;
  if (!NobodyListens(errno)) return CannotConnect(path, errno);
  if (start == StartDaemon::kNever)
    return Fail(Code::kUnavailable, fmt::format("no daemon listens on {}", path),
                "none is needed: the next command starts one");
  return StartAndConnect(path);
}

}  // namespace cloche::cli
