#pragma once

#include <cstdint>

namespace cloche {

// Fixed-size messages between cloched and cloche-spawn (SOCK_SEQPACKET socketpair).

enum class SpawnOp : uint32_t {
  kLaunch = 1,   // fds: sealed memfd with an encoded LaunchPlan, the client's connected socket and,
                 // to save a round trip, the image of command 1, which is passed on to init
  kKill = 2,     // SIGKILL to every process of the sandbox; its upper stays
  kDiscard = 3,  // kill, count what changed (kFlagSummary), remove the upper
  kRoom = 9,     // is its upper full? Answered by kFlagDiskFull and kFlagFilesFull
  kSnapshot = 10,      // saves the upper of `sandbox` as `snapshot`; frozen meanwhile if it runs
  kRollback = 11,      // `sandbox` (stopped) becomes `snapshot`; what it was is saved as `other`
  kFork = 12,          // makes the upper of the new `sandbox` from `snapshot`
  kDropSnapshot = 13,  // removes `snapshot`
  kLook = 15,  // what did `sandbox` (stopped), or its `snapshot`, change, against the base or the
               // snapshot `other`? fds: its plan, the client's socket, the paths that are promoted
               // (a sealed memfd, a NUL behind each; none: all), where cloche-diff writes the
               // answer, what it is asked, where it says why it failed. The reply comes when it has
               // ended. EXDEV: cloche-promote needs a kFlatten first
  kEndLook =
      16,  // nobody wants the answer to the kLook with the number `argument`; that kEgress,
           // kSign or kFlatten is to end. kFlagFreeze: it goes on, and so does what stood still
  kNetwork = 17,  // leads the TCP and the DNS of `sandbox` (running) to sockets in its network
                  // namespace. fds: its owner's socket and, rootless, one that init made. The reply
                  // has the sockets: tcp4, dns4, proxy4 and, where there is IPv6, tcp6, dns6;
                  // then, where the kernel can tell, one that what is refused is read from
  kConnect = 18,  // the same fds; the reply has a connection to port `argument` on its loopback
  kEgress = 19,   // starts cloche-egress; fds: its end of the socket to cloched, its log. The reply
                  // comes when it has ended
  kTrust = 20,    // makes `sandbox` (running) believe a certificate authority. fds: its owner's
                  // socket, a sealed memfd with certificates (PEM), the first of which it is, the
                  // others for a base that believes none; rootless init's mount namespace
  kSign = 21,     // starts cloche-sign for `sandbox` (running), as its owner; fds: the owner's
                  // socket, its end of the socket to cloched, where programs inside connect, its
                  // log. The reply comes when it has ended
  kRetain = 14,   // fd: a memfd with the ids of all snapshots, a line each. Others are removed; the
                  // reply has a memfd with those that do not exist
  kDivide = 23,   // what the init of `sandbox` (running) starts from now on is in a memory group of
                  // its own, with the number `argument`
  kSettle = 22,   // writes down all that is not on disk yet, of all sandboxes; one at a time
  kFlatten = 24,  // copies into the upper of `sandbox` what its renamed directories show of the
                  // base, as far as a promotion of some paths concerns them. fds: its plan, the
                  // client's socket, the paths. kFlagLive and kFlagFreeze as kLook
  kForget = 25,   // reality was changed: the overlays of `sandbox` (running) look at it anew. fds:
                  // its owner's socket; rootless init's mount namespace
  kReady = 6,     // from spawn, once: `detail` = "" or why it cannot work here
  kReply = 7,     // from spawn, to the request with the same number
  kExited = 8,    // from spawn: the init of `sandbox` ended, `value` = wait status
};

inline constexpr uint32_t kFlagSummary = 1;
inline constexpr uint32_t kFlagFromPool = 2;  // reply: a prepared sandbox was used
inline constexpr uint32_t kFlagCgroupV2 = 4;
inline constexpr uint32_t kFlagCgroupV1 = 8;
// kReady and the reply to a launch: the AppArmor profile is in force; AppArmor is active without
// it.
inline constexpr uint32_t kFlagAppArmor = 16;
inline constexpr uint32_t kFlagAppArmorMissing = 32;
inline constexpr uint32_t kFlagLive = 256;     // kLook: it runs, and stands still
inline constexpr uint32_t kFlagPromote = 512;  // kLook: by cloche-promote, which takes it over
inline constexpr uint32_t kFlagFreeze = 1024;  // kLook: it stands still until that is done
inline constexpr uint32_t kFlagFew = 2048;     // kLook: only if little changed; E2BIG: it is more
inline constexpr uint32_t kFlagBrief = 4096;   // kKill: answer before the mounts are gone too
// kRoom and a summary: the limit of bytes, of files was met.
inline constexpr uint32_t kFlagDiskFull = 64;
inline constexpr uint32_t kFlagFilesFull = 128;
inline constexpr uint32_t kFlagShareFull = 8192;  // with kFlagDiskFull: the user's, not its own

// Which part of building a sandbox failed; with the operation and errno it becomes a sentence and
// a cure in policy/cures.cc.
enum class SpawnStage : uint32_t {
  kNone,
  kPlan,  // the plan is malformed, or asks for what the caller may not have
  kPool,  // storage: pool image, subvolume, quota
  kCgroup,
  kNamespaces,  // clone3, id maps
  kIdmap,       // idmapped clones of the layers
  kOverlay,
  kFiles,   // whiteouts and file rules in the upper
  kMounts,  // in the child: attach, proc, dev, masks
  kPivot,
  kNetwork,
  kAppArmor,
  kPrivileges,
  kLandlock,
  kSeccomp,
  kVerify,  // a layer was installed and is not in force
};

struct SpawnRequest {
  SpawnOp op{};
  uint32_t flags = 0;
  uint64_t number = 0;
  char sandbox[32] = {};
  char snapshot[32] = {};
  char other[32] = {};
  uint64_t argument = 0;
};

// Reply to kLaunch carries fds: init's control socket, init's pidfd, the seccomp listener, the OOM
// event fd (v1: eventfd, v2: memory.events to poll for POLLPRI; absent without a cgroup).
struct SpawnReply {
  SpawnOp op{};
  uint32_t flags = 0;
  uint64_t number = 0;
  char sandbox[32] = {};
  int32_t value = 0;  // kReply: 0 or errno; kExited: wait status
  SpawnStage stage{};
  char operation[40] = {};  // the system call or step that failed
  char detail[200] = {};    // its object, e.g. a path
  int32_t init_pid = 0;
  uint32_t uid_base = 0;
  char cgroup[160] = {};  // path below the (unified or memory) hierarchy's mount point
  uint32_t changed = 0;   // summary of kDiscard
  uint32_t added = 0;
  uint32_t deleted = 0;
  uint32_t reserved = 0;
  uint64_t changed_bytes = 0;
  uint32_t timing_us[8] = {};  // SpawnTiming
};

enum SpawnTiming {
  kTimeReceive,
  kTimePrepare,
  kTimeLimits,
  kTimeHandOver,
  kTimeKill,
  // of kSnapshot, kRollback, kFork
  kTimeFlush,
  kTimeFreeze,
  kTimeSave,
  kTimeCount
};

}  // namespace cloche
