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
// Simple quotas (6.7+), or quota groups before. Idempotent.
int EnableQuota(int pool);
// A group 1/ID holds the limit of several subvolumes together.
uint64_t QuotaGroupId(uint64_t id);
uint64_t UserGroupId(uint32_t uid);  // 2/UID, of everything one user has
int CreateQuotaGroup(int pool, uint64_t group);
int DestroyQuotaGroup(int pool,
                      uint64_t group);        // of a subvolume: its id. Not while it has members
std::vector<uint64_t> QuotaGroups(int pool);  // all of them
bool SubvolumeExists(int pool, uint64_t id);
int JoinQuotaGroup(int pool, uint64_t subvolume_id, uint64_t group);
int LimitQuotaGroup(int pool, uint64_t group, uint64_t bytes);  // 0 = no limit
uint64_t QuotaGroupBytes(int pool, uint64_t group);  // as of the last commit; 0: there is none
bool HasSimpleQuota(int pool);  // else a group of snapshots would have to be counted anew
int ResizeToDevice(int pool);

// Every byte of the file up to `bytes` has its place on the disk, holes included; content stays.
int Allocate(int file, uint64_t bytes);
// On btrfs: what is written again stays where it is, and needs no new room. An empty file only;
// elsewhere -EOPNOTSUPP, and so it is anyway.
int OverwriteInPlace(int file);
// A free loop device over `file`, cleared by the kernel when its last user is gone. Fills `path`.
int AttachLoop(int file, Fd& device, char (&path)[32]);
int RefreshLoopSize(int device);

}  // namespace cloche::sys
