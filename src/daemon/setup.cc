#include "daemon/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "sys/listener.h"
#include "sys/own_process.h"

namespace cloche::daemon {
namespace {

// If no `cloche` user is installed: an unused id from systemd's dynamic range.
constexpr uint32_t kFallbackId = 61842;

std::string FromEnvironment(const char* name, const std::string& otherwise) {
  const char* value = getenv(name);
  return value && *value ? value : otherwise;
}

Error Errno(const std::string& what, const std::string& path) {
  return {Code::kUnavailable, fmt::format("{} {}: {}", what, path, strerror(errno)),
          "check its owner and its disk"};
}

// The one socket of a systemd socket unit: fd 3 by convention, ours if LISTEN_PID says so.
sys::Fd SocketOfSystemd() {
  constexpr int kFirst = 3;
  if (FromEnvironment("LISTEN_PID", "") != std::to_string(getpid()) ||
      FromEnvironment("LISTEN_FDS", "") != "1")
    return {};
  return sys::Fd(kFirst);
}

Status MakeDirectory(const std::string& path, mode_t mode) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), mode) < 0 && errno != EEXIST)
    return std::unexpected(Errno("make directory", path));
  struct stat info;
  if (lstat(path.c_str(), &info) < 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 022) != 0)
    return Fail(
        Code::kUnavailable,
        fmt::format("use directory {}: it belongs to somebody else or others may write to it",
                    path),
        fmt::format("remove it, or set CLOCHE_STATE_DIR and CLOCHE_RUNTIME_DIR"));
  return {};
}

// Gives the files that a daemon under the fallback id left to the installed user. Nothing else:
// that daemon could write to the directory, and a hard link in it may lead to anybody's file.
void TakeOver(const std::string& directory, uint32_t uid, uint32_t gid) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    sys::Fd file(open(entry.path().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info;
    if (file.valid() && fstat(file.get(), &info) == 0 && info.st_uid == kFallbackId)
      (void)!fchownat(file.get(), "", uid, gid, AT_EMPTY_PATH);
  }
}

std::string SiblingSpawn() {
  char self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string path(self, size > 0 ? static_cast<size_t>(size) : 0);
  return path.substr(0, path.rfind('/')) + "/cloche-spawn";
}

}  // namespace

Result<Setup> Setup::Open(Mode mode, std::string socket_path, std::string state) {
  Setup setup;
  setup.mode_ = mode;
  const bool system = mode == Mode::kSystem;
  std::string home = FromEnvironment("HOME", "/");
  if (state.empty())
    state = FromEnvironment(
        "CLOCHE_STATE_DIR",
        system ? "/var/lib/cloche"
               : FromEnvironment("XDG_STATE_HOME", home + "/.local/state") + "/cloche");
  setup.listener_ = SocketOfSystemd();
  if (setup.listener_.valid())
    if (int result = sys::AdoptListener(setup.listener_.get(), socket_path); result < 0)
      return Fail(Code::kInvalid, fmt::format("use systemd's socket: {}", strerror(-result)),
                  "its unit needs one ListenStream= with a path");
  if (socket_path.empty()) {
    std::string runtime = FromEnvironment("XDG_RUNTIME_DIR", "");
    socket_path = FromEnvironment("CLOCHE_RUNTIME_DIR",
                                  system            ? "/run/cloche"
                                  : runtime.empty() ? fmt::format("/tmp/cloche-{}", getuid())
                                                    : runtime + "/cloche") +
                  "/cloched.sock";
  }
  setup.spawn_program_ = SiblingSpawn();
  const std::string runtime = std::filesystem::path(socket_path).parent_path();
  CLOCHE_TRY(MakeDirectory(state, system ? 0711 : 0700));
  CLOCHE_TRY(MakeDirectory(runtime, system ? 0755 : 0700));
  // Canonical names: sandboxes must not see them, however they were spelled.
  std::error_code error;
  state = std::filesystem::canonical(state, error);
  setup.directories_ = {state, std::filesystem::canonical(runtime, error)};
  if (system) {
    setup.uid_ = setup.gid_ = kFallbackId;
    if (const passwd* entry = getpwnam("cloche")) {
      setup.uid_ = entry->pw_uid;
      setup.gid_ = entry->pw_gid;
    } else if (getpwuid(kFallbackId) || getgrgid(kFallbackId)) {
      return Fail(Code::kUnavailable,
                  fmt::format("choose a user for cloched: uid {} is taken", kFallbackId),
                  "useradd --system --no-create-home --shell /usr/sbin/nologin cloche");
    }
  }
  for (const std::string& directory : {state + "/daemon", state + "/daemon/logs"}) {
    // Searchable: a command's owner reads its log by the reported path.
    if (mkdir(directory.c_str(), 0711) < 0 && errno != EEXIST)
      return std::unexpected(Errno("make directory", directory));
    if (system && lchown(directory.c_str(), setup.uid_, setup.gid_) < 0)
      return std::unexpected(Errno("give away", directory));
    if (system && setup.uid_ != kFallbackId) TakeOver(directory, setup.uid_, setup.gid_);
  }
  if (setup.listener_.valid()) return setup;

  // The CLI holds the start lock and found no listener.
  if (int result = sys::ListenAt(socket_path.c_str(), system ? 0666 : 0600, setup.listener_);
      result < 0)
    return Fail(
        Code::kUnavailable, fmt::format("listen on {}: {}", socket_path, strerror(-result)),
        result == -ENAMETOOLONG ? "set CLOCHE_RUNTIME_DIR to a shorter path" : "check its owner");
  return setup;
}

Status Setup::GiveUpRoot() {
  if (mode_ != Mode::kSystem) return {};
  if (int error = sys::BecomeUser(uid_, gid_); error < 0)
    return Fail(Code::kInternal, fmt::format("give up root: {}", strerror(-error)));
  const std::filesystem::path daemon = directories_.state + "/daemon";
  std::filesystem::path above;
  for (const auto& part : daemon) {
    struct stat info;
    if (stat((above / part).c_str(), &info) < 0)
      return Fail(
          Code::kUnavailable,
          fmt::format("use state directory {}: cloched runs as uid {}, which may not pass {}",
                      directories_.state, uid_, above.string()),
          fmt::format("put it below a directory that all may pass (CLOCHE_STATE_DIR), or "
                      "chmod o+x {}",
                      above.string()));
    above /= part;
  }
  return {};
}

void Setup::KeepLog() {
  std::string path = directories_.state + "/daemon/cloched.log";
  (void)!rename(path.c_str(), (path + ".before").c_str());  // the previous daemon's log
  sys::Fd log(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (log.valid()) dup2(log.get(), STDERR_FILENO);
}

}  // namespace cloche::daemon
