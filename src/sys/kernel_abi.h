#pragma once

#include <stdint.h>

// Definitions from newer kernels that the headers of Debian 12 (Linux 6.1) lack, under our own
// names, so that a newer header never clashes. System call numbers above 423 are the same on every
// architecture.

namespace cloche::sys {

// Landlock. The old headers have its three system calls, but not most of its flags.
inline constexpr uint64_t kLandlockFsMakeChar = 1u << 6;
inline constexpr uint64_t kLandlockFsMakeBlock = 1u << 11;
inline constexpr uint64_t kLandlockFsRefer = 1u << 13;        // ABI 2
inline constexpr uint64_t kLandlockFsTruncate = 1u << 14;     // ABI 3
inline constexpr uint64_t kLandlockFsIoctlDev = 1u << 15;     // ABI 5
inline constexpr uint64_t kLandlockFsResolveUnix = 1u << 16;  // ABI 9

inline constexpr uint64_t kLandlockNetBindTcp = 1u << 0;     // ABI 4
inline constexpr uint64_t kLandlockNetConnectTcp = 1u << 1;  // ABI 4

inline constexpr uint64_t kLandlockScopeAbstractSocket = 1u << 0;  // ABI 6
inline constexpr uint64_t kLandlockScopeSignal = 1u << 1;          // ABI 6

inline constexpr uint32_t kLandlockLogSameExecOff = 1u << 0;    // ABI 7
inline constexpr uint32_t kLandlockLogSubdomainsOff = 1u << 2;  // ABI 7

// As of ABI 6. Older kernels accept the longer struct as long as the fields they do not know are
// zero.
struct LandlockRulesetAttr {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

// Btrfs: Linux 6.7.
inline constexpr uint64_t kBtrfsEnableSimpleQuota = 4;

// Unix sockets: SIOCUNIXFILE, whose header clashes with <sys/un.h>.
inline constexpr unsigned long kSocketFile = 0x89e0;

// System calls: Linux 6.13.
inline constexpr int kListxattrat = 465;

// Seccomp: Linux 5.19.
inline constexpr uint32_t kSeccompWaitKillableRecv = 1u << 5;

}  // namespace cloche::sys
