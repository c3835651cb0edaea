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

struct AskedEnvironment {
  std::span<const std::string> env;    // as filtered
  std::span<const std::string> names;  // asked for by name
};

// What a command gets: its own, and what its sandbox was made with by name. That is stronger than
// what the command's caller happens to have, and weaker than what he asks for by name.
std::vector<std::string> JoinEnvironments(const AskedEnvironment& command,
                                          const AskedEnvironment& sandbox);

bool NameLooksSecret(std::string_view name);
bool ValueLooksSecret(std::string_view value);
// How tokens of its kind begin, and everybody knows: "ghp_". Empty: it is of no known kind.
std::string_view PublicPrefix(std::string_view value);

}  // namespace cloche
