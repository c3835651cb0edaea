#pragma once

#include <time.h>

#include <cstdint>

namespace cloche::sys {

inline int64_t Nanos(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t ModifiedNanos(const char* path);  // 0 if it does not exist

}  // namespace cloche::sys
