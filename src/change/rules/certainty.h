#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche::rules {

// Longer lines are not read: tools cut them off at different places.
inline constexpr size_t kMaxSureLine = 256 << 10;

// Why two tools may read this text differently, and where: another encoding, control characters, a
// character that only some tools treat as a line end. "" = every tool sees the same lines. A form
// feed on its own line is fine.
std::string DoubtAbout(std::string_view text);

// The encoding declared in the first two lines of a Python file, if its ASCII bytes do not mean
// ASCII; "" = an ordinary one.
std::string OddPythonEncoding(std::string_view text);

}  // namespace cloche::rules
