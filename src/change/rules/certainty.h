#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche::rules {

// A longer line is not read: tools cut lines off at different places.
inline constexpr size_t kMaxSureLine = 256 << 10;

// Why two tools may read this text differently, and where: another encoding, control characters, a
// character that ends a line for some only. "" = every tool sees the same lines. A form feed on a
// line of its own is none.
std::string DoubtAbout(std::string_view text);

// The encoding that the first two lines of a Python file ask for, when it is not one whose ASCII
// bytes mean ASCII; "" = an ordinary one.
std::string OddPythonEncoding(std::string_view text);

}  // namespace cloche::rules
