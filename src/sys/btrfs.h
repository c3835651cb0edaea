#pragma once

#include <stdint.h>

#include <vector>

#include "sys/fd.h"

namespace cloche::sys {

// The btrfs ioctls the pool needs. 0 or -errno.
int CreateSubvolume(int dir, const char* name);
int SnapshotSubvolume(int source, int dir, const char* name);  // writable; on disk on return
int SnapshotReadOnly(int source, int dir, const char* name);
int DestroySubvolume(int dir, const char* name);
int64_t SubvolumeId(int subvolume);
// Simple quotas (6.7+), or quota groups on older kernels. Idempotent.
int EnableQuota(int pool);
// A group 1/ID holds the shared limit of several subvolumes.
uint64_t QuotaGroupId(uint64_t id);
uint64_t UserGroupId(uint32_t uid);  // 2/UID, everything one user has
int CreateQuotaGroup(int pool, uint64_t group);
int DestroyQuotaGroup(int pool,
                      uint64_t group);        // for a subvolume, its id. Fails while it has members
std::vector<uint64_t> QuotaGroups(int pool);  // all of them
bool SubvolumeExists(int pool, uint64_t id);
int JoinQuotaGroup(int pool, uint64_t subvolume_id, uint64_t group);
int LimitQuotaGroup(int pool, uint64_t group, uint64_t bytes);  // 0 = no limit
uint64_t QuotaGroupBytes(int pool, uint64_t group);  // as of the last commit; 0: no such group
bool HasSimpleQuota(int pool);                       // else groups of snapshots must be recounted
int ResizeToDevice(int pool);

// Allocates every byte of the file up to `bytes` on disk, including holes; content stays.
int Allocate(int file, uint64_t bytes);
// On btrfs: overwrites stay in place and need no new space. Only for an empty file; elsewhere
// -EOPNOTSUPP, where that holds anyway.
int OverwriteInPlace(int file);
// Attaches `file` to a free loop device, which the kernel clears when its last user is gone. Fills
// `path`.
int AttachLoop(int file, Fd& device, char (&path)[32]);
int RefreshLoopSize(int device);

}  // namespace cloche::sys
