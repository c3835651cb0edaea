#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche::change {

// RFC 4648 with padding. Decoding accepts exactly what encoding writes.
std::string ToBase64(std::string_view bytes);
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace cloche::change
