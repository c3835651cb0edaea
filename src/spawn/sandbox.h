#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/mask.h"
#include "spawn/source.h"
#include "sys/fd.h"

namespace cloche::spawn {

// A sealed sandbox as spawn holds it: prepared (no id yet) or handed out.
struct Sandbox {
  std::string name;  // of its upper in once/ and of its cgroup
  std::string id;    // once handed out
  uint32_t slot = 0;
  uint32_t uid_base = 0;
  uint32_t caller = 0;  // the user its spec is for
  uint32_t owner = 0;   // once handed out
  pid_t pid = 0;
  bool kept = false;            // its upper is kept/id, not once/name
  bool in_memory = false;       // its upper is a tmpfs: no quota to set
  bool returning = false;       // it was kept before: its files outlive a failed launch
  bool discard = false;         // remove the upper when init is gone
  bool summary = false;         // count its changes for the reply
  uint64_t number = 0;          // the request whose reply waits for init's end
  bool writes_outside = false;  // something of the host is writable inside
  sys::Fd pidfd, control, listener, upper, oom;
  std::optional<KernelLimits> limits;  // in force
  std::shared_ptr<Mask> mask;
  std::vector<SourceIdentity> sources;  // by mount
  std::vector<std::string> slots;       // of its upper, by overlay
};

}  // namespace cloche::spawn
