#pragma once

#include <string>
#include <vector>

#include "change/apply/plan.h"
#include "change/rules/globs.h"

namespace cloche::apply {

// What the project's cloche.toml says about paths, as it was pinned when the sandbox was made. The
// file itself is only its owner's to change.
class ProjectRules {
 public:
  ProjectRules() = default;  // everything is free
  static Result<ProjectRules> Read(const std::string& toml, const std::string& project);

  // A conflict for each path that must not be touched. Paths outside the project are not its
  // business. `root`: where the project's files go, if not to itself.
  Status Check(const std::vector<std::string>& changes, const std::string& root,
               std::vector<Conflict>& conflicts) const;

 private:
  rules::PathRules rules_;
  std::string project_;
};

// What to say when the real cloche.toml is no longer the one that was pinned; "" = it is.
std::string ProjectFileNote(const std::string& project, const std::string& pinned,
                            const std::string& sandbox);

}  // namespace cloche::apply
