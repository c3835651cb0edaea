#include "change/apply/clock_lag.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/clock_trail.h"
#include "sys/fd.h"
#include "sys/file.h"
#include "sys/file_times.h"

namespace cloche::apply {

bool HasOurClock(int directory) {
  constexpr long kXfs = 0x58465342, kF2fs = 0xF2F52010, kZfs = 0x2FC12FC1, kBcachefs = 0xCA451A4E;
  constexpr std::array<long, 10> kLocal = {EXT4_SUPER_MAGIC,
                                           kXfs,
                                           BTRFS_SUPER_MAGIC,
                                           TMPFS_MAGIC,
                                           OVERLAYFS_SUPER_MAGIC,
                                           kF2fs,
                                           kZfs,
                                           kBcachefs,
                                           MSDOS_SUPER_MAGIC,
                                           RAMFS_MAGIC};
  struct statfs info;
  return fstatfs(directory, &info) == 0 &&
         std::ranges::find(kLocal, static_cast<long>(info.f_type)) != kLocal.end();
}

void MeasureLag(int directory, std::map<uint64_t, int64_t>& lags_ns) {
  if (HasOurClock(directory)) return;
  const std::string name = ".clock." + std::to_string(getpid());
  const int64_t before_ns = sys::CoarseNanos();
  const sys::Fd file(
      openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  struct stat info;
  const bool known = fsync(file.get()) == 0 && fstat(file.get(), &info) == 0;
  (void)unlinkat(directory, name.c_str(), 0);
  if (known) lags_ns[info.st_dev] = std::max<int64_t>(before_ns - sys::Nanos(info.st_ctim), 0);
}

}  // namespace cloche::apply
