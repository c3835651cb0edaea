#include "floor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "host_state.h"
#include "series.h"

namespace cloche::bench {
namespace {

constexpr const char* kSource = "bench-floor";

bool Subvolume(int dir, unsigned long call, const std::string& name) {
  btrfs_ioctl_vol_args arguments{};
  strncpy(arguments.name, name.c_str(), sizeof arguments.name - 1);
  return ioctl(dir, call, &arguments) == 0;
}

}  // namespace

Argv BwrapTrue() {
  const std::string bwrap = FindProgram("bwrap");
  if (bwrap.empty()) return {};
  return {bwrap,           "--ro-bind",        "/", "/", "--dev", "/dev", "--proc", "/proc",
          "--unshare-all", FindProgram("true")};
}

BareSnapshots::BareSnapshots(const OwnDaemon& daemon) {
  if (geteuid() != 0) return;
  pool_ = open(PoolSeenFromHere(daemon).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (pool_ < 0 || !Subvolume(pool_, BTRFS_IOC_SUBVOL_CREATE, kSource)) return;
  source_ = openat(pool_, kSource, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

BareSnapshots::~BareSnapshots() {
  for (const std::string& name : made_) Subvolume(pool_, BTRFS_IOC_SNAP_DESTROY, name);
  if (source_ >= 0) {
    close(source_);
    Subvolume(pool_, BTRFS_IOC_SNAP_DESTROY, kSource);
  }
  if (pool_ >= 0) close(pool_);
}

double BareSnapshots::Once() {
  const std::string name = fmt::format("{}-{}", kSource, made_.size());
  const int file = openat(source_, "one", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool written = write(file, name.data(), name.size()) == static_cast<ssize_t>(name.size());
  close(file);
  btrfs_ioctl_vol_args_v2 arguments{};
  arguments.fd = source_;
  strncpy(arguments.name, name.c_str(), sizeof arguments.name - 1);
  const Stopwatch watch;
  const bool made = ioctl(pool_, BTRFS_IOC_SNAP_CREATE_V2, &arguments) == 0;
  const double ms = watch.Ms();
  if (!written || !made) throw std::runtime_error("snapshot a subvolume of the pool");
  made_.push_back(name);
  return ms;
}

double ReplaceSafely(const std::string& source, const std::string& target) {
  return TimeSpawn({"/bin/sh", "-c",
                    R"(cp "$0" "$1.new" && sync "$1.new" && mv "$1.new" "$1" && sync "${1%/*}")",
                    source, target});
}

}  // namespace cloche::bench
