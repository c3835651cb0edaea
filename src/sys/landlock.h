#pragma once

#include <stdint.h>

#include <span>

namespace cloche::sys {

// The second layer behind seccomp and the mount namespace: code that gets past those still cannot
// create a device, talk to a driver or signal processes outside.

// The ABI of the running kernel, 0 without Landlock.
int LandlockAbi();

struct LandlockDomain {
  uint64_t handled_fs = 0;  // beneath "/", grants all but making devices and driver ioctls
  uint64_t scoped = 0;      // no signals and no abstract sockets to the outside
  uint32_t restrict_flags = 0;
};

// Handles every file right of the ABI, so that anything reached other than through the sandbox's
// own root (a leaked descriptor, /proc/N/root of something outside) is closed. Walks up the path at
// each open: +40% for an open and close six directories deep.
LandlockDomain FullLandlockDomain(int abi);

// Handles only rights that are never granted. No walk: +5%.
LandlockDomain DeviceLandlockDomain(int abi);

struct LandlockFailure;
// For a process that only reads: it cannot write, create, remove or execute a file, or open a
// connection.
LandlockFailure EnterReadOnlyDomain();

// For a process that writes, creates and removes only beneath some directories, executes no file
// and opens no connection. Reading is not restricted. It may rename between these directories;
// kernels before 5.19 cannot grant that, so this fails there.
struct LandlockGrant {
  int directory;
  bool whole = true;  // false: may only remove empty directories there
};
LandlockFailure EnterWritingDomain(std::span<const LandlockGrant> grants);

// `operation` is null if the domain was entered.
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
