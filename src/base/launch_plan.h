#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cloche {

// The sandbox that cloche-spawn builds: flat data, made by pure code in policy/, printed by `cloche
// explain`, checked and executed by spawn/. It leaves no decision open.

enum class Mode : uint8_t { kSystem, kRootless };

enum class MountKind : uint8_t {
  kOverlay,  // copy-on-write view of the host directory `source`
  kBind,     // the host path `source` itself (read-only, or writes are real)
  kTmpfs,    // fresh, `size_bytes` large
  kProc,     // the sandbox's own, with the masks of kProcMasks
  kDev,      // fixed nodes, own devpts, own shm
  kSys,      // its own control groups and the machine's CPUs to look at, nothing else
};

struct MountOp {
  MountKind kind = MountKind::kTmpfs;
  std::string source;       // absolute host path; empty for kTmpfs, kProc, kDev, kSys
  std::string target;       // absolute path inside; the first op's target is "/"
  bool read_only = false;   // kOverlay: the lower alone, no upper
  bool recursive = false;   // kBind: with the mounts below it
  bool optional = false;    // skip when `source` does not exist
  bool blank = false;       // kOverlay: over nothing; the upper holds a whole copy of `source`
  uint64_t size_bytes = 0;  // kTmpfs
  uint32_t mode = 0755;     // kTmpfs: of its root directory
  bool operator==(const MountOp&) const = default;
};

// Files that are not the lower's inside. They make a layer of their own, the mask.
enum class FileRuleKind : uint8_t {
  kHide,          // a whiteout: absent inside, never reported as a deletion
  kBlankHashes,   // shadow(5)/gshadow(5): every password field becomes "*"
  kHideGlob,      // whiteouts for every name below `path` that matches a pattern (one a line) of
                  // `content`
  kDecoy,         // the caller's own file with `content`, where something is hidden or nothing is
  kDecoyInstead,  // the same, but only where there is a file that is hidden
};

struct FileRule {
  FileRuleKind kind = FileRuleKind::kHide;
  std::string path;     // absolute, inside
  std::string content;  // kHideGlob, kDecoy
  bool operator==(const FileRule&) const = default;
};

// The user that a request claims to come from. spawn does not believe it: it compares it with the
// credentials of the client's socket.
struct Caller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  bool operator==(const Caller&) const = default;
};

// Everything that is built before a sandbox is handed out. Prepared sandboxes are pooled by the
// bytes of this part, so it holds nothing that differs from run to run.
struct SandboxSpec {
  Mode mode = Mode::kSystem;
  Caller caller;
  bool base_is_host = true;
  bool root_inside = false;  // root of the sandbox's own user namespace, Docker's capabilities
  bool map_root = false;     // rootless with a base that is not the host: inside 0 = the caller
  std::string hostname;
  uint32_t cpus = 0;  // how many it runs on and sees; 0 = all of ours
  std::vector<MountOp> mounts;
  std::vector<FileRule> files;
  bool operator==(const SandboxSpec&) const = default;

  // Some path is the host's own, and not a copy: what is made there stays.
  bool WritesOutside() const;
};

// 0 = unlimited. Enforced by spawn when the sandbox is handed out.
struct KernelLimits {
  uint64_t cpu_millis = 0;  // 1500 = one and a half CPUs
  uint64_t memory_bytes = 0;
  uint64_t disk_bytes = 0;
  uint64_t inodes = 0;
  uint64_t pids = 0;
  bool operator==(const KernelLimits&) const = default;
};

struct LaunchPlan {
  std::string sandbox_id;
  bool keep = false;       // the upper outlives the processes (cloche new); else it goes with them
  bool in_memory = false;  // the upper is a tmpfs of limits.disk_bytes and limits.inodes
  SandboxSpec spec;
  KernelLimits limits;
  bool operator==(const LaunchPlan&) const = default;
};

// The wire format of docs/formats/launch-plan.md. Decode refuses anything it does not fully
// understand: wrong magic or version, trailing bytes, counts or lengths beyond their caps.
std::string EncodePlan(const LaunchPlan& plan);
std::string EncodeSpec(const SandboxSpec& spec);  // the pool key
Result<LaunchPlan> DecodePlan(std::string_view bytes);

}  // namespace cloche
