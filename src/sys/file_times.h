#pragma once

#include <time.h>

#include <cstdint>

namespace cloche::sys {

inline int64_t Nanos(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace cloche::sys
