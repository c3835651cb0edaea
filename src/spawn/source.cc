#include "spawn/source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "sys/process.h"

namespace cloche::spawn {
namespace {

bool IsBelow(const std::string& path, const std::string& directory) {
  return path != directory && (directory == "/" || path.starts_with(directory + "/"));
}

// Every directory on the way is the host's own, at its own place. With another one on the way (such
// as a tmpfs over a private directory), the host's permissions would not be checked.
bool IsReachedAsOnTheHost(const SandboxSpec& spec, const MountOp& op) {
  return std::ranges::all_of(spec.mounts, [&](const MountOp& above) {
    const bool in_place = !above.source.empty() && above.source == above.target;
    return !IsBelow(op.target, above.target) || in_place;
  });
}

// A directory that passed for a file would be shown as it is, without copy and mask.
OrFailure<Source> Examined(sys::Fd fd, const MountOp& op) {
  struct stat info;
  if (fstat(fd.get(), &info) < 0)
    return Failed(SpawnStep::kMounts, "stat source", errno, op.source);
  SourceIdentity identity;
  identity.device = info.st_dev;
  identity.inode = info.st_ino;
  return Source{std::move(fd), S_ISDIR(info.st_mode), identity};
}

bool Hides(const SandboxSpec& spec, const std::string& path) {
  return std::ranges::any_of(spec.files, [&](const FileRule& rule) {
    return rule.kind == FileRuleKind::kHide && rule.path == path;
  });
}

// Files that the plan hides or covers must not show under another name. A copy of a directory that
// contains them may be shown if the plan also hides them under that name: a home whose directory is
// a link.
bool IsClosed(const SandboxSpec& spec, const MountOp& op, const std::string& led) {
  const auto shows = [&](const std::string& hidden) {
    if (led == hidden || IsBelow(led, hidden)) return true;
    if (!IsBelow(hidden, led)) return false;
    return op.kind != MountKind::kOverlay || !Hides(spec, op.target + hidden.substr(led.size()));
  };
  return std::ranges::any_of(spec.files,
                             [&](const FileRule& rule) {
                               return rule.kind == FileRuleKind::kHide && shows(rule.path);
                             }) ||
         std::ranges::any_of(spec.mounts, [&](const MountOp& cover) {
           return cover.kind == MountKind::kTmpfs && cover.optional && shows(cover.target);
         });
}

std::string PathOf(int fd) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  if (size <= 0 || static_cast<size_t>(size) == sizeof path) return "";
  return std::string(path, static_cast<size_t>(size));
}

// Policy has judged the path that was named. Where links led is judged here, by what was opened; a
// base is never the host's own root, whatever its name.
OrFailure<void> CheckWhereItLed(const SandboxSpec& spec, const MountOp& op, int fd) {
  struct stat opened, root;
  if (fstat(fd, &opened) < 0 || stat("/", &root) < 0)
    return Failed(SpawnStep::kPlan, "stat source", errno, op.source);
  const bool is_base = !spec.base_is_host && op.target == "/";
  const bool is_root = opened.st_dev == root.st_dev && opened.st_ino == root.st_ino;
  if (is_root && (is_base || op.source != "/"))
    return Failed(SpawnStep::kPlan, "source is the host's root", EPERM, op.source);
  const std::string led = PathOf(fd);
  if (led == op.source) return {};
  // Hidden files in a base are known by the base's own path.
  if (is_base) return Failed(SpawnStep::kPlan, "base is a link", EPERM, op.source);
  const auto of_the_system = [&](const char* directory) {
    return led == directory || IsBelow(led, directory);
  };
  const bool refused =
      led.empty() || led[0] != '/' ||
      std::ranges::any_of(std::initializer_list<const char*>{"/dev", "/proc", "/run", "/sys"},
                          of_the_system) ||
      // With a separate base, nothing tells what the host hides.
      !spec.base_is_host || IsClosed(spec, op, led);
  if (refused) return Failed(SpawnStep::kPlan, "source is a link", EPERM, op.source);
  return {};
}

}  // namespace

OrFailure<Source> OpenSource(const SandboxSpec& spec, const MountOp& op) {
  // A filesystem of the host at its own place: the directories that lead there inside are the same
  // ones with the same permissions, so it gives nothing away.
  if (op.kind == MountKind::kOverlay && spec.base_is_host && op.source == op.target &&
      IsReachedAsOnTheHost(spec, op)) {
    sys::Fd own(sys::OpenWithoutSymlinks(op.source.c_str(), O_PATH));
    if (own.valid() && sys::IsMountRoot(own.get())) {
      auto source = Examined(std::move(own), op);
      if (source) source->identity.lasting = true;  // a change of mounts is noticed elsewhere
      return source;
    }
  }
  // Writes through a link would land outside the allowed path.
  const bool follow = op.kind == MountKind::kOverlay || op.read_only;
  const bool borrow = spec.mode == Mode::kSystem && spec.caller.uid != 0;
  if (borrow)
    if (int error = sys::SeeAs(spec.caller.uid, spec.caller.gid, spec.caller.groups); error < 0)
      return Failed(SpawnStep::kMounts, "take the caller's rights", error);
  int fd = follow ? open(op.source.c_str(), O_PATH | O_CLOEXEC)
                  : sys::OpenWithoutSymlinks(op.source.c_str(), O_PATH);
  int error = fd < 0 ? (follow ? errno : -fd) : 0;
  if (fd >= 0) {
    // To see into a directory, callers must be able to enter it.
    sys::Fd entered(openat(fd, ".", O_PATH | O_CLOEXEC));
    if (!entered.valid() && (errno != ENOTDIR || op.target == "/")) {
      error = errno;
      close(fd);
      fd = -1;
    }
  }
  if (borrow) sys::SeeAsOurselves();
  if (fd >= 0) {
    sys::Fd source(fd);
    if (auto checked = CheckWhereItLed(spec, op, fd); !checked)
      return std::unexpected(checked.error());
    return Examined(std::move(source), op);
  }
  if (op.optional && (error == ENOENT || error == ENOTDIR || error == EACCES)) return Source{};
  return Failed(SpawnStep::kPlan, "open source", error, op.source);
}

bool SourcesAreTheSame(const SandboxSpec& spec, const std::vector<SourceIdentity>& earlier) {
  for (size_t i = 0; i < spec.mounts.size() && i < earlier.size(); ++i) {
    if (earlier[i].lasting) continue;
    auto now = OpenSource(spec, spec.mounts[i]);
    if (!now || now->identity != earlier[i]) return false;
  }
  return earlier.size() == spec.mounts.size();
}

}  // namespace cloche::spawn
