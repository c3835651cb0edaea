#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/facts.h"
#include "policy/request.h"

namespace cloche {

struct HiddenPath {
  std::string path;
  std::string_view why;
  // An ordinary user cannot read it anyway: rootless needs no cover there.
  bool root_only = false;
};

// Something that is not the same inside as outside.
struct Difference {
  std::string what;
  std::string why;
  bool operator==(const Difference&) const = default;
};

struct Absence {
  std::string path;  // or "PROJECT/**/.env" for a pattern
  std::string why;
};

struct HiddenSet {
  std::vector<HiddenPath> paths;        // none below another
  std::vector<Difference> differences;  // what would be hidden and is not, and why
  bool Hides(std::string_view path) const;
};

// Paths hidden by default on a copy of the host: credentials, keyrings, histories, browser profiles
// in every visible home; keys of the machine; other people's homes; Cloche itself. A path in which
// callers work, or that they named with --ro, stays visible.
HiddenSet DefaultHidden(const HostFacts& facts, const UserFacts& user,
                        const SandboxRequest& request);

// One pattern a line for FileRuleKind::kHideGlob, expanded below the project; '!' excepts.
inline constexpr std::string_view kProjectGlobs =
    ".env\n.env.*\n!.env.example\n!.env.sample\n!.env.template\n!.env.dist\n.envrc\n";

}  // namespace cloche
