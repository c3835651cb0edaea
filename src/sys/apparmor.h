#pragma once

namespace cloche::sys {

// A lock behind the others: where AppArmor is active and our profile (packaging/apparmor) is
// loaded, a sandbox runs under it from before its privileges are dropped.

inline constexpr char kAppArmorProfile[] = "cloche-sandbox";

enum class AppArmor { kInactive, kNoProfile, kReady };

// Found out by trying, in a process of its own: the kernel tells only root which profiles are
// loaded. A profile that does not enforce counts as none. Forks; SIGCHLD must not be ignored.
AppArmor FindAppArmor();

// For the calling process and everything it starts, and verified: 0 or -errno. Needs a /proc of the
// caller's own pid namespace. Allocation-free.
int EnterAppArmor();

}  // namespace cloche::sys
