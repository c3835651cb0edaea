#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/spawn_protocol.h"
#include "policy/facts.h"

namespace cloche {

// Rootless, where a limit needs a cgroup. The unit is packaging/systemd/user.
inline constexpr const char* kDelegationCure =
    "let systemd start the daemon, in a unit with Delegate=yes: end this one (cloche status names "
    "its pid), then systemctl --user enable --now cloched.socket; or run it as root, or leave the "
    "limit out";

// Turns a failure that cloche-spawn reports into a sentence and what the reader can do about it.
Error ExplainLaunchFailure(SpawnStep step, std::string_view operation, int errno_value,
                           std::string_view detail, const HostFacts& facts);

}  // namespace cloche
