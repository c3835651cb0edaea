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

// Passes the variables a developer's tools need and nothing else. Anything that looks like a secret
// is dropped and named even if its name is on the list; `extra_names` were asked for by name and
// pass. PWD, OLDPWD and SHLVL are dropped without being named: we set the first, shells the others.
FilteredEnvironment FilterEnvironment(std::span<const std::string> env,
                                      std::span<const std::string> extra_names);

struct AskedEnvironment {
  std::span<const std::string> env;    // as filtered
  std::span<const std::string> names;  // asked for by name
};

// The environment of a command: its own, and the variables its sandbox was given by name. Those
// override variables that the command's caller merely has set, but not ones the caller asks for by
// name.
std::vector<std::string> JoinEnvironments(const AskedEnvironment& command,
                                          const AskedEnvironment& sandbox);

bool NameLooksSecret(std::string_view name);
bool ValueLooksSecret(std::string_view value);
// The well-known beginning of tokens of its kind: "ghp_". Empty: it is of no known kind.
std::string_view PublicPrefix(std::string_view value);

}  // namespace cloche
