#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace cloche {

// Files are dated by a clock that people and time servers set. After it is set back, later changes
// carry earlier times.

// The clocks, read at one moment.
struct ClockReading {
  std::string boot;           // id of the boot
  int64_t real_ns = 0;        // since 1970: the clock of file times
  int64_t since_boot_ns = 0;  // nobody sets this one
};

// By how much the clock was set back between the two, as far as they tell. 0: not, or by less than
// it takes to read them.
int64_t ClockSetBack(const ClockReading& then, const ClockReading& now);

// Records by how much the clock was set back since something was made.
class ClockTrail {
 public:
  ClockTrail() = default;
  ClockTrail(ClockReading last, int64_t back_ns) : last_(std::move(last)), back_ns_(back_ns) {}

  // True: it was set back since the last time.
  bool Observe(const ClockReading& now);
  void Add(int64_t back_ns) { back_ns_ += back_ns; }

  const ClockReading& last() const { return last_; }
  int64_t back_ns() const { return back_ns_; }  // by how much in all

 private:
  ClockReading last_;  // without a boot: nobody has looked yet
  int64_t back_ns_ = 0;
};

// A clock that was set back by no more than this leaves times that can be compared, with an earlier
// moment. Beyond it, nothing is known of what happened in between.
inline constexpr int64_t kMostSetBackNs = 1'000'000'000;
inline constexpr int64_t kAllMoved = 1;  // every file was changed since then

// From when on a time of change means "changed since".
int64_t SinceWithClock(int64_t since_ns, int64_t back_ns);

// "the clock was set back by 3600 s after this sandbox was made"
std::string DescribeSetBack(int64_t back_ns);

}  // namespace cloche
