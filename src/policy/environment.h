#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

struct FilteredEnvironment {
  std::vector<std::string> kept;             // NAME=value, in the order given
  std::vector<std::string> dropped_secrets;  // names only: a value is never repeated
  std::vector<std::string> dropped_other;
};

// Passes what a developer's tools need and nothing else. Whatever looks like a secret is dropped
// and named even if its name is on the list; `extra_names` were asked for by name and pass.
// PWD, OLDPWD and SHLVL are dropped without being named: we set the first, shells the others.
FilteredEnvironment FilterEnvironment(std::span<const std::string> env,
                                      std::span<const std::string> extra_names);

bool NameLooksSecret(std::string_view name);
bool ValueLooksSecret(std::string_view value);

}  // namespace cloche
