#pragma once

#include <span>
#include <string_view>

namespace cloche {

// The default list as data; hidden.cc decides which of it holds for a request.

struct HomeSecret {
  std::string_view path;  // below a home, or the top of a file system
  std::string_view why;
};

struct SystemSecret {
  std::string_view path;
  std::string_view why;
  bool root_only;  // its mode keeps ordinary users out already
};

std::span<const HomeSecret> HomeSecrets();
std::span<const SystemSecret> SystemSecrets();
std::span<const HomeSecret> SnapshotTrees();  // of each file system

}  // namespace cloche
