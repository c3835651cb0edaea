#pragma once

#include <string_view>

namespace cloche {

// The errors that building a sandbox can meet. strerror has the C library's words, not the
// reader's.
std::string_view ErrnoName(int errno_value);     // "EPERM"; empty when unknown
std::string_view ErrnoMeaning(int errno_value);  // "not permitted"; "failed" when unknown

}  // namespace cloche
