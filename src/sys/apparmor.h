#pragma once

namespace cloche::sys {

// An additional layer: if AppArmor is active and our profile (packaging/apparmor) is loaded, a
// sandbox enters it before its privileges are dropped.

inline constexpr char kAppArmorProfile[] = "cloche-sandbox";

enum class AppArmor { kInactive, kNoProfile, kReady };

// Found out by trying, in a child: the kernel tells only root which profiles are loaded. A profile
// that does not enforce counts as none. Forks; SIGCHLD must not be ignored.
AppArmor FindAppArmor();

// For the calling process and everything it starts, verified: 0 or -errno. Needs the /proc of the
// caller's own pid namespace. Allocation-free.
int EnterAppArmor();

}  // namespace cloche::sys
