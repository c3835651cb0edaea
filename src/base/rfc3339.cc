#include "base/rfc3339.h"

#include <fmt/core.h>

#include <chrono>

namespace cloche {
namespace {

std::string UpToSeconds(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace

std::string Rfc3339(int64_t seconds_since_1970) {
  return UpToSeconds(std::chrono::sys_seconds(std::chrono::seconds(seconds_since_1970))) + "Z";
}

std::string Rfc3339Millis(int64_t ms_since_1970) {
  const std::chrono::milliseconds all(ms_since_1970);
  const auto whole = std::chrono::floor<std::chrono::seconds>(all);
  return fmt::format("{}.{:03}Z", UpToSeconds(std::chrono::sys_seconds(whole)),
                     (all - whole).count());
}

}  // namespace cloche
