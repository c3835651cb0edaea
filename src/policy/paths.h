#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche {

// Paths in policy are absolute, without "." or "..", without doubled or trailing slashes; then
// containment is a comparison of strings. ".." is refused instead of folded: with symlinks only
// the kernel knows where it leads.
Result<std::string> CleanPath(std::string_view path, std::string_view field);

bool IsAtOrBelow(std::string_view path, std::string_view directory);
bool IsBelow(std::string_view path, std::string_view directory);
bool IsAtOrBelowAny(std::string_view path, std::span<const std::string_view> directories);
int PathDepth(std::string_view path);  // "/" is 0
std::string JoinPath(std::string_view directory, std::string_view relative);

}  // namespace cloche
