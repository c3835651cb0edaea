#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/command_list.h"
#include "daemon/terms.h"
#include "sys/seccomp_decide.h"
#include "sys/seccomp_listener.h"

namespace cloche::daemon {

// A limit that a sandbox has met, and for which it is killed.
struct FatalLimit {
  const char* name;  // "denials"
  std::string reason;
};

// The denials of one sandbox: system calls, and decoys on their way out. Its running commands are
// told about the first of each kind.
class DenialLog {
 public:
  DenialLog(std::string sandbox, const Terms& terms, const CommandList& commands)
      : sandbox_(std::move(sandbox)), terms_(terms), commands_(commands) {}

  // Call while the caller still waits: afterwards its /proc entry may be gone.
  std::optional<FatalLimit> Record(const sys::SeccompNotification& notification);
  // `canary` was sent in this form (such as "base64") to this destination. Always a violation.
  std::optional<FatalLimit> RecordCanary(const std::string& canary, const std::string& form,
                                         const std::string& destination);
  Json ToJson() const;

 private:
  struct Denial {
    std::string call;
    std::string detail;  // for a violation that is not a call
    sys::DenialClass kind{};
    uint64_t count = 0;
    std::chrono::system_clock::time_point first, last;
    std::vector<uint64_t> args;  // of the first one
    uint32_t pid = 0;            // of the first one
    std::string process;         // of the first one
  };
  // The row to count in, null if there is no room; `first` says whether it is new.
  Denial* Count(const Denial& denial, size_t most_rows, bool& first);
  void Tell(bool first, const Json& notice);
  std::optional<FatalLimit> Judge(bool violation, const std::string& what) const;

  std::string sandbox_;
  const Terms& terms_;
  const CommandList& commands_;
  std::vector<Denial> denials_;
  uint64_t count_ = 0;
};

}  // namespace cloche::daemon
