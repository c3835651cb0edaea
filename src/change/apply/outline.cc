#include "change/apply/outline.h"

#include <algorithm>

#include "base/text.h"

namespace cloche::apply {
namespace {

// Less than the daemon takes of a list of paths, and of a path.
constexpr size_t kMostPaths = 200, kLongestPath = 4000, kMostBytes = 8000;

size_t DepthOf(const std::string& path) {
  return path == "/" ? 0 : static_cast<size_t>(std::ranges::count(path, '/'));
}

void GoUp(std::string& path) { path.resize(std::max<size_t>(path.find_last_of('/'), 1)); }

bool IsTooMuch(const std::vector<std::string>& paths) {
  size_t bytes = 0;
  for (const std::string& path : paths) {
    if (path.size() > kLongestPath) return true;
    bytes += path.size();
  }
  return paths.size() > kMostPaths || bytes > kMostBytes;
}

}  // namespace

std::vector<std::string> Outline(std::vector<std::string> paths) {
  for (std::string& path : paths)
    while (!IsUtf8(path)) GoUp(path);
  while (IsTooMuch(paths)) {
    size_t deepest = 1;
    for (const std::string& path : paths) deepest = std::max(deepest, DepthOf(path));
    for (std::string& path : paths)
      if (DepthOf(path) == deepest) GoUp(path);
    std::ranges::sort(paths);
    paths.erase(std::ranges::unique(paths).begin(), paths.end());
  }
  return paths;
}

}  // namespace cloche::apply
