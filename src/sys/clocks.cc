#include "sys/clocks.h"

#include <fcntl.h>
#include <time.h>

#include "sys/file.h"
#include "sys/file_times.h"

namespace cloche::sys {

ClockReading ReadClocks() {
  static const std::string boot = [] {
    std::string id;
    (void)ReadFileAt(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id);
    while (!id.empty() && id.back() == '\n') id.pop_back();
    return id.empty() ? std::string("unknown") : id;
  }();
  ClockReading best{boot, 0, 0};
  int64_t closest = 0;
  // If we are interrupted between the two reads, they are far apart; try again.
  for (int i = 0; i < 5; ++i) {
    timespec before{}, after{};
    clock_gettime(CLOCK_BOOTTIME, &before);
    timespec real{};
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &after);
    const int64_t apart = Nanos(after) - Nanos(before);
    if (i > 0 && apart >= closest) continue;
    closest = apart;
    best.real_ns = Nanos(real);
    best.since_boot_ns = Nanos(before) + apart / 2;
  }
  return best;
}

}  // namespace cloche::sys
