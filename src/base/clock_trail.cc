#include "base/clock_trail.h"

#include <fmt/core.h>

namespace cloche {
namespace {

constexpr int64_t kReadingNs = 10'000'000;  // two readings may seem to be apart by this
constexpr int64_t kSecondNs = 1'000'000'000;

int64_t OffsetOf(const ClockReading& reading) { return reading.real_ns - reading.since_boot_ns; }

}  // namespace

int64_t ClockSetBack(const ClockReading& then, const ClockReading& now) {
  // After a reboot, all that can be told is that the clock is behind what it had reached before.
  const int64_t back_ns =
      then.boot == now.boot ? OffsetOf(then) - OffsetOf(now) : then.real_ns - now.real_ns;
  return back_ns > kReadingNs ? back_ns : 0;
}

bool ClockTrail::Observe(const ClockReading& now) {
  if (last_.boot.empty()) {
    last_ = now;
    return false;
  }
  const int64_t back_ns = ClockSetBack(last_, now);
  const bool same = last_.boot == now.boot;
  const int64_t offset_ns = OffsetOf(last_);
  const bool steady = same && back_ns == 0 && OffsetOf(now) - offset_ns <= kReadingNs;
  last_ = now;
  // Many small steps count, too.
  if (steady) last_.real_ns = offset_ns + now.since_boot_ns;
  back_ns_ += back_ns;
  return back_ns > 0;
}

int64_t SinceWithClock(int64_t since_ns, int64_t back_ns) {
  return back_ns > kMostSetBackNs ? kAllMoved : since_ns - back_ns;
}

std::string DescribeSetBack(int64_t back_ns) {
  return fmt::format("the clock was set back by {} s after this sandbox was made",
                     (back_ns + kSecondNs / 2) / kSecondNs);
}

}  // namespace cloche
