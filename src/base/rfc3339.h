#pragma once

#include <cstdint>
#include <string>

namespace cloche {

// "2026-11-18T09:12:00Z"
std::string Rfc3339(int64_t seconds_since_1970);
// "2026-11-18T09:12:00.125Z"
std::string Rfc3339Millis(int64_t ms_since_1970);

}  // namespace cloche
