#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::rules {

struct Credential {
  size_t line = 0;        // of the new text, from 1
  std::string_view kind;  // "GitHub token"
  std::string masked;     // at most four characters, then dots: the value is never repeated
};

inline constexpr size_t kMaxCredentials = 100;

// Finds credentials in lines of `after` that `before` does not have. Ignores placeholders,
// documentation examples and binary content.
std::vector<Credential> FindCredentials(std::string_view path,
                                        std::optional<std::string_view> before,
                                        std::string_view after);

}  // namespace cloche::rules
