#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/cpus.h"
#include "spawn/failure.h"
#include "spawn/sandbox.h"
#include "spawn/source.h"
#include "spawn/store.h"
#include "sys/apparmor.h"
#include "sys/cgroup.h"
#include "sys/seccomp.h"

namespace cloche::spawn {

struct UpperChoice {
  std::string kept_id;  // of the upper a stopped sandbox left; "" = a new one
  bool in_memory = false;
  uint64_t memory_bytes = 0, memory_inodes = 0;
  std::string memory_id;  // id under which a new one in memory is kept; "" = it is not
};

// Builds sandboxes: namespaces, id maps, layers, and a sealed init waiting for commands.
class Workshop {
 public:
  // `scratch` is a directory in our own mount namespace where layers are attached briefly.
  Workshop(Store& store, sys::CgroupTree& cgroups, std::string scratch_path);

  OrFailure<Sandbox> Build(const SandboxSpec& spec, const UpperChoice& choice = {});
  // Builds in two steps: everything up to the child's own work, which takes the longest, and its
  // report, once its control socket is readable. If a step fails, the sandbox is cleaned up.
  OrFailure<Sandbox> Begin(const SandboxSpec& spec, const UpperChoice& choice = {});
  OrFailure<void> Finish(Sandbox& sandbox);
  // The base of a sandbox of this spec as the caller would be given it now.
  struct BaseView {
    std::vector<Source> sources;  // by mount
    std::shared_ptr<Mask> mask;
  };
  OrFailure<BaseView> View(const SandboxSpec& spec);
  void ReleaseMask(std::shared_ptr<Mask> mask);
  // Gives back the slot and the mask. The caller handles processes, upper and cgroup.
  void Release(Sandbox& sandbox);
  void ForgetMasks() { masks_.clear(); }                // the host's mounts changed
  sys::AppArmor apparmor() const { return apparmor_; }  // as of our start

 private:
  void CleanUpFailed(Sandbox& sandbox);
  OrFailure<void> ReadReport(Sandbox& sandbox);
  OrFailure<void> BuildInto(const SandboxSpec& spec, const UpperChoice& choice, Sandbox& sandbox);
  OrFailure<void> Clone(const SandboxSpec& spec, Sandbox& sandbox,
                        const std::vector<Source>& sources);
  OrFailure<void> WriteIdMaps(const SandboxSpec& spec, const Sandbox& sandbox);
  OrFailure<std::shared_ptr<Mask>> MaskFor(const SandboxSpec& spec,
                                           const std::vector<Source>& sources);
  OrFailure<void> MakeUpperDirectories(const SandboxSpec& spec, Sandbox& sandbox,
                                       const std::vector<Source>& sources);
  OrFailure<std::vector<sys::Fd>> MakeMounts(const SandboxSpec& spec, const Sandbox& sandbox,
                                             const std::vector<Source>& sources);
  OrFailure<sys::Fd> MakeOverlay(const SandboxSpec& spec, const MountOp& op, size_t index,
                                 int source, const Sandbox& sandbox, int user_namespace);
  OrFailure<sys::Fd> AttachedClone(int directory, const char* slot, int user_namespace);
  OrFailure<uint32_t> TakeSlot();
  struct SysPart {
    std::string source, target;  // `target` is below /sys
    bool directory = true;
  };
  OrFailure<std::vector<SysPart>> SysParts(const Sandbox& sandbox, const CpuSet& cpus);
  static OrFailure<void> OpenParts(const std::vector<SysPart>& parts, std::vector<sys::Fd>& mounts);

  Store& store_;
  sys::CgroupTree& cgroups_;
  std::string scratch_path_;
  Cpus cpus_;
  sys::SeccompProgram filter_, real_filter_;  // the second if a path is real
  sys::AppArmor apparmor_{};
  int landlock_abi_ = 0;
  uint64_t serial_ = 0;
  std::set<uint32_t> slots_;
  std::vector<std::pair<uint64_t, uint64_t>> delegated_;  // [first, last): not ours to use
  std::map<std::string, std::weak_ptr<Mask>> masks_;      // by spec and sources; sandboxes own them
};

}  // namespace cloche::spawn
