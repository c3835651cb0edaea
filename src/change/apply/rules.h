#pragma once

#include <string>
#include <vector>

#include "change/apply/plan.h"
#include "change/rules/globs.h"

namespace cloche::apply {

// The path rules of the project's cloche.toml, as pinned when the sandbox was made. Only the owner
// may change that file.
class ProjectRules {
 public:
  ProjectRules() = default;  // allows everything
  static Result<ProjectRules> Read(const std::string& toml, const std::string& project);

  // Adds a conflict for each forbidden path. Ignores paths outside the project. `root`: where the
  // project's files go, if not to the project.
  Status Check(const std::vector<std::string>& changes, const std::string& root,
               std::vector<Conflict>& conflicts) const;

 private:
  rules::PathRules rules_;
  std::string project_;
};

// A note if the real cloche.toml is no longer the pinned one; otherwise "".
std::string ProjectFileNote(const std::string& project, const std::string& pinned,
                            const std::string& sandbox);

}  // namespace cloche::apply
