#pragma once

#include <stdint.h>

#include "sys/fd.h"

namespace cloche::sys {

// The btrfs ioctls the pool needs. 0 or -errno.
int CreateSubvolume(int dir, const char* name);
int DestroySubvolume(int dir, const char* name);
int64_t SubvolumeId(int subvolume);
// Simple quotas (6.7+), or quota groups before. Idempotent.
int EnableQuota(int pool);
int LimitSubvolume(int subvolume, uint64_t bytes);  // 0 = no limit
int DestroyQuotaGroup(int pool, uint64_t subvolume_id);
int ResizeToDevice(int pool);

// A free loop device over `file`, cleared by the kernel when its last user is gone. Fills `path`.
int AttachLoop(int file, Fd& device, char (&path)[32]);
int RefreshLoopSize(int device);

}  // namespace cloche::sys
