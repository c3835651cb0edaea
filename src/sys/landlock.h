#pragma once

#include <stdint.h>

#include <span>

namespace cloche::sys {

// The second lock behind seccomp and the mount namespace: whatever gets past those still makes no
// device, talks to no driver and signals nobody outside.

// The ABI of the running kernel, 0 without Landlock.
int LandlockAbi();

struct LandlockDomain {
  uint64_t handled_fs = 0;  // all but making devices and driver ioctls is granted beneath "/"
  uint64_t scoped = 0;      // no signals and no abstract sockets to the outside
  uint32_t restrict_flags = 0;
};

// Handles every file right the ABI has, so that anything reached without passing the sandbox's own
// root (a leaked descriptor, /proc/N/root of something outside) is closed. Walks up the path at
// each open: +40% for an open and close six directories deep.
LandlockDomain FullLandlockDomain(int abi);

// Handles only what is refused anyway. No walk: +5%.
LandlockDomain DeviceLandlockDomain(int abi);

struct LandlockFailure;
// For a process that only reads: writes, makes, removes and executes no file, opens no connection.
LandlockFailure EnterReadOnlyDomain();

// For a process that writes, makes and removes beneath some directories only, executes no file and
// opens no connection. It reads as before. Between them it may rename: older kernels than 5.19
// cannot tell.
struct LandlockGrant {
  int directory;
  bool whole = true;  // false: it may only remove empty directories there
};
LandlockFailure EnterWritingDomain(std::span<const LandlockGrant> grants);

// `operation` is null when the domain was entered.
struct LandlockFailure {
  const char* operation = nullptr;
  const char* path = "";
  int error = 0;
};

// For the calling thread and everything it starts. After pivot_root, because its rules hold the
// inodes of "/" and "/dev", and after all mounts, because a domain may not change them. Needs
// no_new_privs or CAP_SYS_ADMIN in its user namespace. Allocation-free.
LandlockFailure EnterLandlock(const LandlockDomain& domain);

}  // namespace cloche::sys
