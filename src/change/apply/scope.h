#pragma once

#include <string>
#include <vector>

#include "base/state_layout.h"
#include "change/apply/plan.h"
#include "change/model/noise.h"

namespace cloche::apply {

bool Covers(const std::vector<std::string>& directories, const std::string& path);

bool Matches(const std::vector<rules::Glob>& globs, const std::string& path);

// Whether a promotion is about this path.
bool Asked(const Wish& wish, const std::string& path);

// The directory that everything a pattern can match is in.
std::string RootOf(const rules::Glob& glob, const std::string& project);

// Which paths and patterns of a wish have led to nothing: somebody mistyped them.
class Unmatched {
 public:
  explicit Unmatched(const Wish& wish);
  void See(const std::string& path);  // the sandbox changed it
  std::vector<std::string> List() const;

 private:
  std::vector<const std::string*> paths_;
  std::vector<const rules::Glob*> globs_;
};

// The group of what diff does not show, unless somebody named a path in it: a cache is promoted by
// its own name, not by that of what it lies in.
change::Group NoiseOf(const Wish& wish, const std::string& path);

// Promotions keep what they replaced there: it is nobody else's to change.
bool IsKept(const Wish& wish, const std::string& path);

// A person's own settings (docs/settings.md): they give every sandbox its rights.
bool IsSettings(const Wish& wish, const std::string& path);

// The innermost overlay a path is in.
std::string TargetOf(const StateLayout& layout, const std::string& path);

}  // namespace cloche::apply
