#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cloche {

// A command as the sandbox's init receives it, used in place, because init may not allocate: behind
// the message itself while it is small, else in a memfd that init maps. Layout: header, argc + envc
// offsets (u32), then NUL-terminated strings. Offsets count from the start of the image. All
// integers are native endian: same machine.
struct CommandHeader {
  uint32_t magic = 0x434d4431;  // "CMD1"
  uint32_t total = 0;           // bytes of the whole image
  uint32_t argc = 0;
  uint32_t envc = 0;
  uint32_t cwd = 0;    // offset of the working directory
  uint32_t flags = 0;  // kCommand*
  uint16_t rows = 0;
  uint16_t columns = 0;
  uint32_t other_cwd = 0;   // offset of the directory to use when cwd cannot be entered; 0 = none
  uint64_t open_files = 0;  // RLIMIT_NOFILE, 0 = leave
  uint64_t processes = 0;   // RLIMIT_NPROC, 0 = leave (rootless without a cgroup)
  uint64_t file_bytes = 0;  // RLIMIT_FSIZE, 0 = leave
};

inline constexpr uint32_t kCommandStdin = 2;  // else it reads /dev/null
inline constexpr uint32_t kCommandPty = 1;  // a new pty of the sandbox's own devpts is its terminal

struct Command {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=value
  std::string cwd;
  std::string other_cwd;  // "" = none
  bool pty = false;
  bool wants_stdin = false;
  uint16_t rows = 24;
  uint16_t columns = 80;
  uint64_t open_files = 0;
  uint64_t processes = 0;
  uint64_t file_bytes = 0;
};

std::string EncodeCommand(const Command& command);

// Messages between cloched and a sandbox's init (SOCK_SEQPACKET).
enum class InitOp : uint32_t {
  kExec = 1,     // to init; the image follows, or is the fd
  kSignal = 2,   // to init; `value` = signal, to the command's process group
  kKillAll = 3,  // to init; SIGKILL to everything but init
  kStarted = 4,  // from init; fds: with kCommandPty the master, else our ends of stdout, stderr
                 // and, with kCommandStdin, stdin. Init makes them: a pipe made outside belongs to
                 // a user who does not exist inside, and /dev/stdout could not be opened
  kFailed = 5,   // from init; `value` = errno, `step` = ExecStep
  kExited = 6,   // from init; `value` = wait status, with the usage fields
  kPause = 7,    // to init; everything but init stands still
  kPaused = 8,   // from init; `value` = 1, or 0 if it does not
  kResume = 9,   // to init
  kSocket = 10,  // to init; answered by the same, with a socket that belongs to its network
                 // namespace: rootless nobody may look at init to find it
  kListen = 12,  // to init; answered by the same, with a socket that listens at kSignSocket, or
                 // without one
  kOwner = 11,   // to init; answered by the same: which process has a socket at port `value`?
                 // `pid` (0: none is found) and its `name`
  kMounts = 13,  // to init; answered by the same, with its mount namespace, for the same reason
  kKillGroup = 14,  // to init; SIGKILL to everything but init in the memory group whose path, as
                    // seen inside, is `name`; `value` = 1 on cgroup v2
  kNetlink = 15,    // to init; answered by the same, with a netlink socket of the type `value`, or
                    // with its errno as `value`. `command` tells one request from another
};

// Where programs inside find the agent that signs for them. In memory of the sandbox's own.
inline constexpr char kSignSocket[] = "/dev/shm/cloche-agent";

enum class ExecStep : uint32_t {
  kImage = 1,
  kStreams,
  kFork,
  kSession,
  kLimits,
  kDirectory,
  kExec
};

struct InitMessage {
  InitOp op{};
  uint32_t command = 0;
  int32_t value = 0;
  uint32_t step = 0;
  int32_t pid = 0;  // inside
  uint32_t reserved = 0;
  uint64_t user_us = 0;
  uint64_t system_us = 0;
  uint64_t max_rss_kib = 0;
  uint64_t blocks_in = 0;
  uint64_t blocks_out = 0;
  char name[16] = {};
};

inline constexpr size_t kInlineImage = 32 << 10;

}  // namespace cloche
