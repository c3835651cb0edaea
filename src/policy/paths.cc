#include "policy/paths.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace cloche {
namespace {

constexpr size_t kMaxPath = 4095;
constexpr size_t kMaxComponent = 255;

}  // namespace

Result<std::string> CleanPath(std::string_view path, std::string_view field) {
  const auto refuse = [&](std::string_view reason, std::string cure) {
    return Fail(
        Code::kInvalid,
        fmt::format("read {}: '{}' {}", field, EscapeForTerminal(path.substr(0, 200)), reason),
        std::move(cure));
  };
  if (path.empty()) return refuse("is empty", "give an absolute path");
  if (path.find('\0') != path.npos) return refuse("holds a NUL byte", "no path may hold one");
  if (path.front() != '/') return refuse("is not absolute", "begin the path with /");
  if (path.size() > kMaxPath) return refuse("is longer than 4095 bytes", "give a shorter path");

  std::string clean;
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return refuse("holds '..'", "give the path that realpath prints");
    if (part.size() > kMaxComponent)
      return refuse("has a name longer than 255 bytes", "no file can have such a name");
    clean += '/';
    clean += part;
  }
  return clean.empty() ? "/" : clean;
}

bool IsAtOrBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

bool IsBelow(std::string_view path, std::string_view directory) {
  return path != directory && IsAtOrBelow(path, directory);
}

bool IsAtOrBelowAny(std::string_view path, std::span<const std::string_view> directories) {
  return std::ranges::any_of(directories, [&](auto each) { return IsAtOrBelow(path, each); });
}

int PathDepth(std::string_view path) {
  return path == "/" ? 0 : static_cast<int>(std::ranges::count(path, '/'));
}

std::string JoinPath(std::string_view directory, std::string_view relative) {
  return directory == "/" ? fmt::format("/{}", relative)
                          : fmt::format("{}/{}", directory, relative);
}

}  // namespace cloche
