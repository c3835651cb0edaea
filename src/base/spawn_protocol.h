#pragma once

#include <string.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace cloche {

// Fixed-size messages between cloched and cloche-spawn (SOCK_SEQPACKET socketpair).

enum class SpawnOp : uint32_t {
  kLaunch = 1,
  kKill = 2,
  kDiscard = 3,
  kRoom = 9,
  kSnapshot = 10,
  kRollback = 11,
  kFork = 12,
  kDropSnapshot = 13,
  kRetain = 14,
  kDiff = 15,
  kEndJob = 16,
  kNetwork = 17,
  kConnect = 18,
  kEgress = 19,
  kInstallCa = 20,
  kSign = 21,
  kFlush = 22,
  kDivide = 23,
  kFlatten = 24,
  kForget = 25,
  kStaleness = 26,
  kPromote = 27,
  kBirthNote = 28,
  kThawJob = 29,
  kDiskUsage = 30,
  kReady = 6,   // from spawn, once: `detail` = "" or why it cannot work here
  kReply = 7,   // from spawn, to the request with the same number
  kExited = 8,  // from spawn: the init of `sandbox` ended, `value` = wait status
};

// In a request from cloched, which may have been taken over: `text` need not end.
struct WireId {
  char text[32] = {};
  WireId() = default;
  explicit WireId(const std::string& id) { id.copy(text, sizeof text - 1); }
  std::string str() const { return {text, strnlen(text, sizeof text)}; }
};

// Requests of cloched to cloche-spawn: a type for each SpawnOp, used by sender and server alike.
// Each type lists its descriptors; `client` is the client's connected socket, from which spawn
// reads who the client is.
namespace ask {

// fds: sealed memfd with an encoded LaunchPlan, client and, to save a round trip, the image of
// command 1, which is passed on to init.
struct Launch {
  static constexpr SpawnOp kOp = SpawnOp::kLaunch;
};
// SIGKILL to every process of the sandbox; its upper stays.
struct Kill {
  static constexpr SpawnOp kOp = SpawnOp::kKill;
  uint8_t brief = 0;  // answer before the mounts are gone too
};
// Kills, counts what changed if asked to, removes the upper.
struct Discard {
  static constexpr SpawnOp kOp = SpawnOp::kDiscard;
  uint8_t count = 0;
};
// Is its upper full? Answered by kFlagDiskFull and kFlagFilesFull.
struct Room {
  static constexpr SpawnOp kOp = SpawnOp::kRoom;
};
// How many bytes does its upper take, with its snapshots? Answered by `changed_bytes`, with
// kFlagCounted if that is known.
struct DiskUsage {
  static constexpr SpawnOp kOp = SpawnOp::kDiskUsage;
};
// Saves the upper of the sandbox, which is frozen meanwhile if it runs.
struct Snapshot {
  static constexpr SpawnOp kOp = SpawnOp::kSnapshot;
  WireId snapshot;
};
// The sandbox (stopped) becomes `snapshot`; what it was is saved as `left`.
struct Rollback {
  static constexpr SpawnOp kOp = SpawnOp::kRollback;
  WireId snapshot, left;
};
// Makes the upper of the new sandbox from `snapshot`.
struct Fork {
  static constexpr SpawnOp kOp = SpawnOp::kFork;
  WireId snapshot;
};
struct DropSnapshot {
  static constexpr SpawnOp kOp = SpawnOp::kDropSnapshot;
  WireId snapshot;
};
// fd: a memfd with the ids of all snapshots, a line each. Others are removed; the reply has a memfd
// with those that do not exist.
struct Retain {
  static constexpr SpawnOp kOp = SpawnOp::kRetain;
};

// The next four start a helper with the rights of the client. fds: plan, client, a sealed memfd
// with paths (a NUL behind each; none: all), where the helper writes its answer, what it is asked,
// where it says why it failed. The reply comes when the helper has ended.

// Lists what the sandbox, or its `snapshot`, changed against the base or the snapshot `against`.
struct Diff {
  static constexpr SpawnOp kOp = SpawnOp::kDiff;
  WireId snapshot, against;
  uint8_t live = 0;  // it runs, and is read all the same
};
// Lists what changed outside since the sandbox was made. Only names are read.
struct Staleness {
  static constexpr SpawnOp kOp = SpawnOp::kStaleness;
};
// Promotes the sandbox, or its `snapshot`. EXDEV: a Flatten is needed first; E2BIG: more changed
// than `few` allows.
struct Promote {
  static constexpr SpawnOp kOp = SpawnOp::kPromote;
  WireId snapshot;
  uint8_t live = 0;    // it runs, and stands still
  uint8_t freeze = 0;  // spawn freezes it until the helper has ended, or ThawJob
  uint8_t few = 0;     // only if little changed
};
// Records what git and the file system know of a project now, the base of later merges. Reads
// nothing of the sandbox: fds are client, answer, question and complaint.
struct BirthNote {
  static constexpr SpawnOp kOp = SpawnOp::kBirthNote;
};

// Copies into the upper of the sandbox, or of its `snapshot`, what its renamed directories show of
// the base, as far as a promotion of some paths concerns them. fds: plan, client, paths.
struct Flatten {
  static constexpr SpawnOp kOp = SpawnOp::kFlatten;
  WireId snapshot;
  uint8_t freeze = 0;  // it runs: freeze it meanwhile
};
// Nobody waits for the request with this number any more: its process ends.
struct EndJob {
  static constexpr SpawnOp kOp = SpawnOp::kEndJob;
  uint64_t job = 0;
};
// Thaws what the request with this number froze.
struct ThawJob {
  static constexpr SpawnOp kOp = SpawnOp::kThawJob;
  uint64_t job = 0;
};

// The next four are about a running sandbox. fds: its owner's socket, and rootless, last, a
// descriptor of the namespace from init.

// Leads its TCP and DNS to sockets in its network namespace. The reply has the sockets: tcp4, dns4,
// proxy4 and, where there is IPv6, tcp6, dns6; then, where the kernel supports it, one that reports
// refusals.
struct Network {
  static constexpr SpawnOp kOp = SpawnOp::kNetwork;
};
// The reply has a connection to this port on its loopback.
struct Connect {
  static constexpr SpawnOp kOp = SpawnOp::kConnect;
  uint16_t port = 0;
};
// Makes its programs trust a CA. fd, second: a sealed memfd with certificates (PEM): the CA first,
// then others for a base that trusts none.
struct InstallCa {
  static constexpr SpawnOp kOp = SpawnOp::kInstallCa;
};
// Reality was changed: its overlays look it up again.
struct Forget {
  static constexpr SpawnOp kOp = SpawnOp::kForget;
};

// Starts cloche-egress; fds: its end of the socket to cloched, its log. The reply comes when it has
// ended.
struct Egress {
  static constexpr SpawnOp kOp = SpawnOp::kEgress;
};
// Starts cloche-sign for a running sandbox, as its owner; fds: the owner's socket, its end of the
// socket to cloched, where programs inside connect, its log. The reply comes when it has ended.
struct Sign {
  static constexpr SpawnOp kOp = SpawnOp::kSign;
};
// Puts everything that the init of a running sandbox starts from now on into a memory group of its
// own.
struct Divide {
  static constexpr SpawnOp kOp = SpawnOp::kDivide;
  uint32_t group = 0;
};
// Writes everything dirty to disk, of all sandboxes; one at a time.
struct Flush {
  static constexpr SpawnOp kOp = SpawnOp::kFlush;
};

}  // namespace ask

// Flags of replies.
inline constexpr uint32_t kFlagCounted = 1;   // `changed_bytes` is known
inline constexpr uint32_t kFlagFromPool = 2;  // a prepared sandbox was used
inline constexpr uint32_t kFlagCgroupV2 = 4;
inline constexpr uint32_t kFlagCgroupV1 = 8;
// kReady and the reply to a launch: the AppArmor profile is in force; AppArmor is active without
// it.
inline constexpr uint32_t kFlagAppArmor = 16;
inline constexpr uint32_t kFlagAppArmorMissing = 32;
// ask::Room and a count: the limit of bytes, of files was met.
inline constexpr uint32_t kFlagDiskFull = 64;
inline constexpr uint32_t kFlagFilesFull = 128;
inline constexpr uint32_t kFlagShareFull = 8192;  // with kFlagDiskFull: the user's, not its own

// Which part of building a sandbox failed; with the operation and errno it becomes a sentence and
// a cure in policy/cures.cc.
enum class SpawnStep : uint32_t {
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
  uint32_t reserved = 0;
  uint64_t number = 0;
  char sandbox[32] = {};
  char body[72] = {};  // of the type in `ask` that has this op
};

template <typename Body>
SpawnRequest RequestOf(const std::string& sandbox, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= sizeof(SpawnRequest::body));
  SpawnRequest request{};
  request.op = Body::kOp;
  sandbox.copy(request.sandbox, sizeof request.sandbox - 1);
  memcpy(request.body, &body, sizeof body);
  return request;
}

// The caller has looked at `op`.
template <typename Body>
Body BodyOf(const SpawnRequest& request) {
  Body body;
  memcpy(&body, request.body, sizeof body);
  return body;
}

// The reply to ask::Launch carries fds: init's control socket, init's pidfd, the seccomp listener,
// the OOM event fd (v1: eventfd, v2: memory.events to poll for POLLPRI; absent without a cgroup).
struct SpawnReply {
  SpawnOp op{};
  uint32_t flags = 0;
  uint64_t number = 0;
  char sandbox[32] = {};
  int32_t value = 0;  // kReply: 0 or errno; kExited: wait status
  SpawnStep step{};
  char operation[40] = {};  // the system call or step that failed
  char detail[200] = {};    // its object, e.g. a path
  int32_t init_pid = 0;
  uint32_t uid_base = 0;
  char cgroup[160] = {};  // path below the (unified or memory) hierarchy's mount point
  uint32_t changed = 0;   // counted by ask::Discard
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
  // of ask::Snapshot, Rollback, Fork
  kTimeFlush,
  kTimeFreeze,
  kTimeSave,
  kTimeCount
};

}  // namespace cloche
