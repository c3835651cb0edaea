#include "sys/btrfs.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <string>

#include "sys/file.h"
#include "sys/kernel_abi.h"

namespace cloche::sys {
namespace {

int Ioctl(int fd, unsigned long request, void* argument) {
  return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

template <size_t N>
bool CopyName(char (&to)[N], const char* name) {
  size_t size = strlen(name);
  if (size >= N) return false;
  memcpy(to, name, size + 1);
  return true;
}

}  // namespace

int CreateSubvolume(int dir, const char* name) {
  btrfs_ioctl_vol_args arguments{};
  if (!CopyName(arguments.name, name)) return -ENAMETOOLONG;
  return Ioctl(dir, BTRFS_IOC_SUBVOL_CREATE, &arguments);
}

int DestroySubvolume(int dir, const char* name) {
  btrfs_ioctl_vol_args arguments{};
  if (!CopyName(arguments.name, name)) return -ENAMETOOLONG;
  return Ioctl(dir, BTRFS_IOC_SNAP_DESTROY, &arguments);
}

namespace {
int Snapshot(int source, int dir, const char* name, uint64_t flags) {
  btrfs_ioctl_vol_args_v2 arguments{};
  arguments.fd = source;
  arguments.flags = flags;
  if (!CopyName(arguments.name, name)) return -ENAMETOOLONG;
  return Ioctl(dir, BTRFS_IOC_SNAP_CREATE_V2, &arguments);
}
}  // namespace

int SnapshotSubvolume(int source, int dir, const char* name) {
  return Snapshot(source, dir, name, 0);
}

int SnapshotReadOnly(int source, int dir, const char* name) {
  return Snapshot(source, dir, name, BTRFS_SUBVOL_RDONLY);
}

int64_t SubvolumeId(int subvolume) {
  btrfs_ioctl_ino_lookup_args arguments{};
  arguments.objectid = BTRFS_FIRST_FREE_OBJECTID;
  int error = Ioctl(subvolume, BTRFS_IOC_INO_LOOKUP, &arguments);
  return error < 0 ? error : static_cast<int64_t>(arguments.treeid);
}

int EnableQuota(int pool) {
  btrfs_ioctl_quota_ctl_args arguments{};
  arguments.cmd = kBtrfsEnableSimpleQuota;
  int error = Ioctl(pool, BTRFS_IOC_QUOTA_CTL, &arguments);
  if (error == 0 || error == -EEXIST) return 0;
  arguments = {};
  arguments.cmd = BTRFS_QUOTA_CTL_ENABLE;
  error = Ioctl(pool, BTRFS_IOC_QUOTA_CTL, &arguments);
  return error == -EEXIST ? 0 : error;
}

uint64_t QuotaGroupId(uint64_t id) { return uint64_t{1} << 48 | id; }
uint64_t UserGroupId(uint32_t uid) { return uint64_t{2} << 48 | uid; }

int CreateQuotaGroup(int pool, uint64_t group) {
  btrfs_ioctl_qgroup_create_args arguments{};
  arguments.create = 1;
  arguments.qgroupid = group;
  return Ioctl(pool, BTRFS_IOC_QGROUP_CREATE, &arguments);
}

int DestroyQuotaGroup(int pool, uint64_t group) {
  btrfs_ioctl_qgroup_create_args arguments{};
  arguments.create = 0;
  arguments.qgroupid = group;
  return Ioctl(pool, BTRFS_IOC_QGROUP_CREATE, &arguments);
}

std::vector<uint64_t> QuotaGroups(int pool) {
  std::vector<uint64_t> groups;
  btrfs_ioctl_search_args search{};
  btrfs_ioctl_search_key& key = search.key;
  key.tree_id = BTRFS_QUOTA_TREE_OBJECTID;
  key.max_offset = key.max_transid = ~uint64_t{0};  // of object 0: others are relations
  key.min_type = key.max_type = BTRFS_QGROUP_INFO_KEY;
  for (;;) {
    key.nr_items = 4096;
    if (Ioctl(pool, BTRFS_IOC_TREE_SEARCH, &search) < 0 || key.nr_items == 0) return groups;
    const size_t before = groups.size();
    size_t at = 0;
    for (uint32_t i = 0; i < key.nr_items; ++i) {
      btrfs_ioctl_search_header head;
      memcpy(&head, search.buf + at, sizeof head);
      at += sizeof head + head.len;
      if (head.type == BTRFS_QGROUP_INFO_KEY) groups.push_back(head.offset);
    }
    if (groups.size() == before || groups.back() == ~uint64_t{0}) return groups;
    key.min_offset = groups.back() + 1;  // sorted by offset
  }
}

uint64_t QuotaGroupBytes(int pool, uint64_t group) {
  btrfs_ioctl_search_args search{};
  btrfs_ioctl_search_key& key = search.key;
  key.tree_id = BTRFS_QUOTA_TREE_OBJECTID;
  key.min_type = key.max_type = BTRFS_QGROUP_INFO_KEY;
  key.min_offset = key.max_offset = group;
  key.max_transid = ~uint64_t{0};
  key.nr_items = 1;
  if (Ioctl(pool, BTRFS_IOC_TREE_SEARCH, &search) < 0 || key.nr_items == 0) return 0;
  btrfs_ioctl_search_header head;
  memcpy(&head, search.buf, sizeof head);
  uint64_t referenced = 0;  // after the generation
  if (head.type == BTRFS_QGROUP_INFO_KEY && head.len >= 2 * sizeof referenced)
    memcpy(&referenced, search.buf + sizeof head + sizeof referenced, sizeof referenced);
  return le64toh(referenced);
}

bool SubvolumeExists(int pool, uint64_t id) {
  btrfs_ioctl_search_args search{};
  search.key.tree_id = id;
  search.key.max_objectid = search.key.max_offset = search.key.max_transid = ~uint64_t{0};
  search.key.max_type = ~uint32_t{0};
  search.key.nr_items = 1;
  return Ioctl(pool, BTRFS_IOC_TREE_SEARCH, &search) != -ENOENT;
}

int JoinQuotaGroup(int pool, uint64_t subvolume_id, uint64_t group) {
  btrfs_ioctl_qgroup_assign_args arguments{};
  arguments.assign = 1;
  arguments.src = subvolume_id;
  arguments.dst = group;
  return Ioctl(pool, BTRFS_IOC_QGROUP_ASSIGN, &arguments);
}

int LimitQuotaGroup(int pool, uint64_t group, uint64_t bytes) {
  btrfs_ioctl_qgroup_limit_args arguments{};
  arguments.qgroupid = group;
  arguments.lim.flags = BTRFS_QGROUP_LIMIT_MAX_RFER;
  arguments.lim.max_rfer = bytes == 0 ? static_cast<uint64_t>(-1) : bytes;
  return Ioctl(pool, BTRFS_IOC_QGROUP_LIMIT, &arguments);
}

bool HasSimpleQuota(int pool) {
  btrfs_ioctl_fs_info_args info{};
  if (Ioctl(pool, BTRFS_IOC_FS_INFO, &info) < 0) return false;
  std::string path = "/sys/fs/btrfs/";
  for (size_t i = 0; i < sizeof info.fsid; ++i) {
    char digits[4];
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    snprintf(digits, sizeof digits, dash ? "-%02x" : "%02x", info.fsid[i]);
    path += digits;
  }
  std::string mode;
  return ReadFileAt(AT_FDCWD, (path + "/qgroups/mode").c_str(), mode) >= 0 &&
         mode.starts_with("squota");
}

int ResizeToDevice(int pool) {
  btrfs_ioctl_vol_args arguments{};
  CopyName(arguments.name, "max");
  return Ioctl(pool, BTRFS_IOC_RESIZE, &arguments);
}

int AttachLoop(int file, Fd& device, char (&path)[32]) {
  Fd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control.valid()) return -errno;
  for (int attempt = 0; attempt < 32; ++attempt) {
    int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return -errno;
    snprintf(path, sizeof path, "/dev/loop%d", number);
    Fd candidate(open(path, O_RDWR | O_CLOEXEC));
    if (!candidate.valid()) return -errno;
    loop_config config{};
    config.fd = static_cast<uint32_t>(file);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    CopyName(reinterpret_cast<char(&)[64]>(config.info.lo_file_name), "cloche-pool");
    int error = Ioctl(candidate.get(), LOOP_CONFIGURE, &config);
    if (error == 0) {
      device = std::move(candidate);
      return 0;
    }
    if (error != -EBUSY) return error;  // EBUSY: somebody else was faster
  }
  return -EBUSY;
}

int Allocate(int file, uint64_t bytes) {
  // glibc's fallback writes into every block; it is needed only if the filesystem cannot allocate.
  if (fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0) return 0;
  return errno == EOPNOTSUPP ? -posix_fallocate(file, 0, static_cast<off_t>(bytes)) : -errno;
}

int OverwriteInPlace(int file) {
  int flags = 0;
  if (ioctl(file, FS_IOC_GETFLAGS, &flags) < 0) return -errno;
  flags |= FS_NOCOW_FL;
  return ioctl(file, FS_IOC_SETFLAGS, &flags) < 0 ? -errno : 0;
}

int RefreshLoopSize(int device) { return ioctl(device, LOOP_SET_CAPACITY, 0) < 0 ? -errno : 0; }

}  // namespace cloche::sys
