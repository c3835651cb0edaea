#pragma once

#include <string>
#include <vector>

#include "base/state_layout.h"
#include "change/apply/plan.h"
#include "change/model/noise.h"

namespace cloche::apply {

bool Covers(const std::vector<std::string>& directories, const std::string& path);

bool Matches(const std::vector<rules::Glob>& globs, const std::string& path);

// Whether the promotion includes this path.
bool Asked(const Wish& wish, const std::string& path);

// The directory that contains everything a pattern can match.
std::string RootOf(const rules::Glob& glob, const std::string& project);

// Finds the paths and patterns of a wish that match nothing, such as typing mistakes.
class Unmatched {
 public:
  explicit Unmatched(const Wish& wish);
  void See(const std::string& path);  // a path the sandbox changed
  std::vector<std::string> List() const;

 private:
  std::vector<const std::string*> paths_;
  std::vector<const rules::Glob*> globs_;
};

// The path's noise group, or kReal if the caller named it. A cache is promoted only by its own
// name, not by that of a directory above it.
change::Group NoiseOf(const Wish& wish, const std::string& path);

// Whether promotions keep replaced files there; nothing else may change it.
bool IsKept(const Wish& wish, const std::string& path);

// The user's own settings (docs/settings.md), which give every sandbox its rights.
bool IsSettings(const Wish& wish, const std::string& path);

// The innermost overlay that contains a path.
std::string TargetOf(const StateLayout& layout, const std::string& path);

}  // namespace cloche::apply
