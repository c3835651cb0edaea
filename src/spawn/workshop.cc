#include "spawn/workshop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "spawn/child.h"
#include "spawn/slots.h"
#include "spawn/source.h"
#include "spawn/special.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/landlock.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

// Host ids of sandboxes: above everything /etc/subuid hands out by default (100000 and up, a 65536
// range per user), below 2^31. The upper half of a slot holds ids above 65535.
constexpr uint32_t kFirstId = 1u << 30;
constexpr uint32_t kSlotSize = 1u << 17;
constexpr uint32_t kSlots = 1u << 13;
constexpr uint32_t kPlainIds = 65536;
constexpr int kReportTimeoutMs = 10000;

// "name:first:count" lines: ids that users may map for themselves.
void ReadDelegated(const char* path, std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
  std::string text;
  if (sys::ReadFileAt(AT_FDCWD, path, text) < 0) return;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    size_t one = line.find(':'), two = line.rfind(':');
    if (one == std::string::npos || two == one) continue;
    uint64_t first = strtoull(line.c_str() + one + 1, nullptr, 10);
    ranges.emplace_back(first, first + strtoull(line.c_str() + two + 1, nullptr, 10));
  }
}

std::string IdMap(uint32_t base, std::vector<uint32_t> ids) {
  std::string map = "0 " + std::to_string(base) + " " + std::to_string(kPlainIds) + "\n";
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  uint32_t next = base + kPlainIds;
  for (uint32_t id : ids)
    if (id >= kPlainIds) map += std::to_string(id) + " " + std::to_string(next++) + " 1\n";
  return map;
}

}  // namespace

Workshop::Workshop(Store& store, sys::CgroupTree& cgroups, std::string scratch_path)
    : store_(store),
      cgroups_(cgroups),
      scratch_path_(std::move(scratch_path)),
      cpus_(scratch_path_),
      filter_(sys::CompileSandboxFilter()),
      real_filter_(sys::CompileSandboxFilter(true)),
      apparmor_(sys::FindAppArmor()),
      landlock_abi_(sys::LandlockAbi()) {
  ReadDelegated("/etc/subuid", delegated_);
  ReadDelegated("/etc/subgid", delegated_);
}

OrFailure<uint32_t> Workshop::TakeSlot() {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    uint64_t first = kFirstId + uint64_t{slot} * kSlotSize;
    bool taken = std::ranges::any_of(delegated_, [&](const auto& range) {
      return first < range.second && range.first < first + kSlotSize;
    });
    if (!taken && slots_.insert(slot).second) return slot;
  }
  return Failed(SpawnStep::kNamespaces, "find a free id range", EAGAIN);
}

void Workshop::Release(Sandbox& sandbox) {
  slots_.erase(sandbox.slot);
  ReleaseMask(std::move(sandbox.mask));
}

void Workshop::ReleaseMask(std::shared_ptr<Mask> mask) {
  if (mask && mask.use_count() == 1) (void)store_.DiscardMask(mask->name());
  mask.reset();
  std::erase_if(masks_, [](const auto& entry) { return entry.second.expired(); });
}

OrFailure<Workshop::BaseView> Workshop::View(const SandboxSpec& spec) {
  BaseView view;
  for (const MountOp& op : spec.mounts) {
    Source source;
    source.identity.lasting = true;
    if (op.kind == MountKind::kOverlay || op.kind == MountKind::kBind) {
      auto opened = OpenSource(spec, op);
      if (!opened) return std::unexpected(opened.error());
      source = std::move(*opened);
    }
    view.sources.push_back(std::move(source));
  }
  auto mask = MaskFor(spec, view.sources);
  if (!mask) return std::unexpected(mask.error());
  view.mask = std::move(*mask);
  return view;
}

OrFailure<std::shared_ptr<Mask>> Workshop::MaskFor(const SandboxSpec& spec,
                                                   const std::vector<Source>& sources) {
  // Keyed by these very directories: a replacement may contain other files.
  std::string key = EncodeSpec(spec);
  for (const Source& source : sources)
    key +=
        " " + std::to_string(source.identity.device) + ":" + std::to_string(source.identity.inode);
  if (auto found = masks_.find(key); found != masks_.end())
    if (auto mask = found->second.lock(); mask && mask->UpToDate()) return mask;
  // Clones without the mounts below, which is what an overlay of them shows. Only for reading:
  // before 6.15 a detached mount cannot be cloned again.
  std::vector<sys::Fd> clones;
  std::vector<int> lowers;
  for (size_t i = 0; i < spec.mounts.size(); ++i) {
    if (spec.mounts[i].kind != MountKind::kOverlay) continue;
    clones.emplace_back(sources[i].valid() ? sys::OpenTree(sources[i].get(), "", false) : -1);
    lowers.push_back(clones.back().get());
    if (sources[i].valid() && !clones.back().valid())
      return Failed(SpawnStep::kMounts, "open_tree", lowers.back(), spec.mounts[i].source);
  }
  const std::string name = "m" + std::to_string(++serial_);
  auto built = Mask::Build(store_.masks(), name, spec, lowers);
  if (!built) {
    (void)store_.DiscardMask(name);
    return std::unexpected(built.error());
  }
  auto mask = std::make_shared<Mask>(std::move(*built));
  masks_[key] = mask;
  return mask;
}

OrFailure<void> Workshop::WriteIdMaps(const SandboxSpec& spec, const Sandbox& sandbox) {
  std::string proc = "/proc/" + std::to_string(sandbox.pid);
  std::string uids, gids;
  if (spec.mode == Mode::kSystem) {
    std::vector<uint32_t> groups = spec.caller.groups;
    groups.push_back(spec.caller.gid);
    uids = IdMap(sandbox.uid_base, {spec.caller.uid});
    gids = IdMap(sandbox.uid_base, groups);
  } else {
    std::string uid = std::to_string(spec.caller.uid), gid = std::to_string(spec.caller.gid);
    uids = (spec.map_root ? "0" : uid) + " " + uid + " 1\n";
    gids = (spec.map_root ? "0" : gid) + " " + gid + " 1\n";
    if (int error = sys::WriteFileAt(AT_FDCWD, (proc + "/setgroups").c_str(), "deny"); error < 0)
      return Failed(SpawnStep::kNamespaces, "write setgroups", error);
  }
  if (int error = sys::WriteFileAt(AT_FDCWD, (proc + "/uid_map").c_str(), uids); error < 0)
    return Failed(SpawnStep::kNamespaces, "write uid_map", error, uids);
  if (int error = sys::WriteFileAt(AT_FDCWD, (proc + "/gid_map").c_str(), gids); error < 0)
    return Failed(SpawnStep::kNamespaces, "write gid_map", error, gids);
  return {};
}

// Per overlay, a slot with "u" and "w". The root of the merged view shows u's attributes, so they
// are copied from the lower root. The work directory is always new: a volatile mount refuses a used
// one.
OrFailure<void> Workshop::MakeUpperDirectories(const SandboxSpec& spec, Sandbox& sandbox,
                                               const std::vector<Source>& sources) {
  const int upper = sandbox.upper.get();
  auto slots = Slots::Of(upper, spec, sources);
  if (!slots) return std::unexpected(slots.error());
  if (auto complete = slots->Complete(upper, spec, sources); !complete) return complete;
  sandbox.slots = slots->names();
  for (size_t i = 0, index = 0; i < spec.mounts.size(); ++i) {
    if (spec.mounts[i].kind != MountKind::kOverlay) continue;
    const std::string& name = sandbox.slots[index++];
    if (spec.mounts[i].read_only || name.empty()) continue;
    sys::Fd slot(openat(upper, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!slot.valid()) return Failed(SpawnStep::kPool, "open upper slot", errno, name);
    if (int error = sys::RemoveTree(slot.get(), "w"); error < 0)
      return Failed(SpawnStep::kPool, "clear work directory", error, name);
    if (mkdirat(slot.get(), "w", 0700) < 0)
      return Failed(SpawnStep::kPool, "make work directory", errno, name);
    const bool made = mkdirat(slot.get(), "u", 0700) == 0;
    if (!made && errno != EEXIST)
      return Failed(SpawnStep::kPool, "make upper directory", errno, name);
    if (spec.mounts[i].blank)
      if (auto marked = MarkBlank(slot.get(), spec.mode == Mode::kRootless); !marked) return marked;
    if (!made) continue;
    struct stat like;
    if (fstat(sources[i].get(), &like) < 0) return Failed(SpawnStep::kPool, "stat lower", errno);
    bool owned =
        fchownat(slot.get(), "u", like.st_uid, like.st_gid, 0) == 0 || spec.mode == Mode::kRootless;
    if (!owned || fchmodat(slot.get(), "u", like.st_mode & 07777, 0) < 0)
      return Failed(SpawnStep::kPool, "set upper attributes", errno, name);
    timespec times[2] = {like.st_atim, like.st_mtim};
    utimensat(slot.get(), "u", times, 0);
  }
  return {};
}

// A clone of `directory`'s mount, idmapped (system mode), attached at scratch/slot until detached
// by the caller: kernels before 6.15 refuse an overlay over detached mounts.
OrFailure<sys::Fd> Workshop::AttachedClone(int directory, const char* slot, int user_namespace) {
  sys::Fd clone(sys::OpenTree(directory, "", false));
  if (!clone.valid()) return Failed(SpawnStep::kIdmap, "open_tree", clone.get(), slot);
  if (user_namespace >= 0)
    if (int error = sys::IdmapMount(clone.get(), user_namespace); error < 0)
      return Failed(SpawnStep::kIdmap, "mount_setattr", error, slot);
  if (int error = sys::AttachMount(clone.get(), AT_FDCWD, (scratch_path_ + "/" + slot).c_str());
      error < 0)
    return Failed(SpawnStep::kIdmap, "move_mount", error, slot);
  return clone;
}

OrFailure<sys::Fd> Workshop::MakeOverlay(const SandboxSpec& spec, const MountOp& op, size_t index,
                                         int source, const Sandbox& sandbox, int user_namespace) {
  struct Detach {
    const std::string& path;
    // Anything left attached would show in a later sandbox.
    ~Detach() {
      for (const char* slot : {"/lower", "/mask", "/upper"})
        if (sys::DetachMount((path + slot).c_str()) < 0 && errno != EINVAL) abort();
    }
  } detach{scratch_path_};
  const std::string layer = std::to_string(index);
  const std::string& slot = sandbox.slots[index];

  auto lower = AttachedClone(op.blank ? store_.empty() : source, "lower", user_namespace);
  if (!lower) {
    lower.error().detail = op.source;
    return std::unexpected(lower.error());
  }
  sys::Fd mask;
  if (sandbox.mask->HasLayer(index)) {
    auto clone = AttachedClone(sandbox.mask->root(), "mask", user_namespace);
    if (!clone) return std::unexpected(clone.error());
    mask = sys::Fd(openat(clone->get(), layer.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!mask.valid()) return Failed(SpawnStep::kOverlay, "open mask", errno, op.target);
  }
  // A read-only overlay has no upper: the mask, or an empty directory, is its second layer.
  const int top = op.read_only ? store_.empty() : sandbox.upper.get();
  auto upper = AttachedClone(top, "upper", user_namespace);
  if (!upper) return std::unexpected(upper.error());
  sys::OverlayLayers layers;
  layers.lower = lower->get();
  layers.mask = mask.valid() ? mask.get() : -1;
  sys::Fd up, work;
  if (op.read_only) {
    layers.below = mask.valid() ? -1 : upper->get();
  } else {
    up = sys::Fd(openat(upper->get(), (slot + "/u").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    work = sys::Fd(openat(upper->get(), (slot + "/w").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!up.valid() || !work.valid())
      return Failed(SpawnStep::kOverlay, "open upper", errno, op.target);
    layers.upper = up.get();
    layers.work = work.get();
  }
  layers.user_xattr = spec.mode == Mode::kRootless;
  uint64_t attributes = sys::kMountNoSuid | sys::kMountNoDev;
  if (op.read_only) attributes |= sys::kMountReadOnly;
  const char* failed = "";
  // The overlay works with the rights of the process that mounts it.
  const bool own_id = spec.mode == Mode::kSystem;
  int mount = own_id ? sys::SetFsIds(sandbox.uid_base, sandbox.uid_base) : 0;
  if (mount == 0)
    mount = sys::MakeOverlay(layers, attributes, failed);
  else
    failed = "take the sandbox's id";
  if (own_id && sys::SetFsIds(0, 0) < 0) abort();
  if (mount < 0) return Failed(SpawnStep::kOverlay, failed, mount, op.source);
  return sys::Fd(mount);
}

OrFailure<std::vector<sys::Fd>> Workshop::MakeMounts(const SandboxSpec& spec,
                                                     const Sandbox& sandbox,
                                                     const std::vector<Source>& sources) {
  sys::Fd user_namespace;
  if (spec.mode == Mode::kSystem) {
    std::string path = "/proc/" + std::to_string(sandbox.pid) + "/ns/user";
    user_namespace = sys::Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!user_namespace.valid())
      return Failed(SpawnStep::kNamespaces, "open user namespace", errno);
  }
  std::vector<sys::Fd> mounts;
  for (size_t i = 0, index = 0; i < spec.mounts.size(); ++i) {
    const MountOp& op = spec.mounts[i];
    size_t overlay = index;
    if (op.kind == MountKind::kOverlay) ++index;
    if (!sources[i].valid()) continue;
    if (op.kind == MountKind::kOverlay && sources[i].directory) {
      auto mount = MakeOverlay(spec, op, overlay, sources[i].get(), sandbox, user_namespace.get());
      if (!mount) return std::unexpected(mount.error());
      mounts.push_back(std::move(*mount));
      continue;
    }
    // A bind, or a single file: a file cannot be an overlay, so it is shown read-only.
    bool read_only = op.read_only || op.kind == MountKind::kOverlay;
    sys::Fd clone(sys::OpenTree(sources[i].get(), "", op.recursive));
    if (!clone.valid()) return Failed(SpawnStep::kMounts, "open_tree", clone.get(), op.source);
    if (user_namespace.valid())
      if (int error = sys::IdmapMount(clone.get(), user_namespace.get(), op.recursive); error < 0)
        return Failed(SpawnStep::kIdmap, "mount_setattr", error, op.source);
    uint64_t flags = sys::kMountNoSuid | sys::kMountNoDev | (read_only ? sys::kMountReadOnly : 0);
    if (int error = sys::SetMountFlags(clone.get(), flags, op.recursive); error < 0)
      return Failed(SpawnStep::kMounts, "mount_setattr", error, op.source);
    mounts.push_back(std::move(clone));
  }
  return mounts;
}

OrFailure<std::vector<Workshop::SysPart>> Workshop::SysParts(const Sandbox& sandbox,
                                                             const CpuSet& cpus) {
  std::vector<SysPart> parts;
  for (sys::CgroupTree::View& view : cgroups_.Views(sandbox.name))
    parts.push_back({std::move(view.directory), "fs/cgroup" + view.target});
  auto tree = cpus_.Tree();
  if (!tree) return std::unexpected(tree.error());
  parts.push_back({std::move(*tree), "devices/system/cpu"});
  if (cpus.all) return parts;
  auto online = cpus_.Online(cpus);
  if (!online) return std::unexpected(online.error());
  parts.push_back({std::move(*online), "devices/system/cpu/online", false});
  return parts;
}

// Clones the directories themselves: they show as much of a group as its own namespace would.
OrFailure<void> Workshop::OpenParts(const std::vector<SysPart>& parts,
                                    std::vector<sys::Fd>& mounts) {
  for (const SysPart& part : parts) {
    sys::Fd clone(sys::OpenTree(AT_FDCWD, part.source.c_str(), false));
    if (!clone.valid()) return Failed(SpawnStep::kMounts, "open_tree", clone.get(), part.source);
    if (int error = sys::SetMountFlags(
            clone.get(),
            sys::kMountReadOnly | sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoExec, false);
        error < 0)
      return Failed(SpawnStep::kMounts, "mount_setattr", error, part.source);
    mounts.push_back(std::move(clone));
  }
  return {};
}

OrFailure<void> Workshop::Clone(const SandboxSpec& spec, Sandbox& sandbox,
                                const std::vector<Source>& sources) {
  sys::Fd theirs;
  if (int error = sys::MakeSocketPair(sandbox.control, theirs); error < 0)
    return Failed(SpawnStep::kNamespaces, "socketpair", error);

  const CpuSet cpus = Cpus::Choose(spec.cpus, sandbox.slot);
  auto parts = SysParts(sandbox, cpus);
  if (!parts) return std::unexpected(parts.error());
  std::vector<ChildMount> mounts;
  size_t fd_count = 0;
  for (size_t i = 0; i < spec.mounts.size(); ++i) {
    const MountOp& op = spec.mounts[i];
    bool from_parent = op.kind == MountKind::kOverlay || op.kind == MountKind::kBind;
    if (from_parent && !sources[i].valid()) continue;
    bool directory = !from_parent || sources[i].directory;
    mounts.push_back({op.kind, from_parent, directory, op.read_only, op.optional, op.size_bytes,
                      op.mode, op.target.c_str()});
    fd_count += from_parent ? 1 : 0;
    if (op.kind != MountKind::kSys) continue;
    for (const SysPart& part : *parts)
      mounts.push_back({op.kind, true, part.directory, true, false, 0, 0, part.target.c_str()});
    fd_count += parts->size();
  }
  if (mounts.empty() || fd_count + 8 > sys::kMaxMessageFds)
    return Failed(SpawnStep::kPlan, "count mounts", E2BIG);
  const bool real_paths = spec.WritesOutside();
  sys::SeccompProgram& filter = real_paths ? real_filter_ : filter_;
  sock_fprog program{static_cast<unsigned short>(filter.code.size()), filter.code.data()};

  ChildPlan plan;
  plan.mounts = mounts.data();
  plan.mount_count = mounts.size();
  plan.fd_count = fd_count;
  plan.become_mapped_root = spec.mode == Mode::kSystem;
  plan.set_groups = spec.mode == Mode::kSystem;
  plan.uid = spec.map_root ? 0 : spec.caller.uid;
  plan.gid = spec.map_root ? 0 : spec.caller.gid;
  plan.groups = spec.caller.groups.data();
  plan.group_count = spec.caller.groups.size();
  plan.capabilities =
      spec.root_inside || spec.map_root ? sys::RootInsideCapabilities(real_paths) : 0;
  plan.tty_group = spec.mode == Mode::kSystem;
  plan.hostname = spec.hostname.c_str();
  plan.cpus = cpus.mask.data();
  plan.cpu_bytes = cpus.mask.size() * sizeof cpus.mask[0];
  plan.filter = &program;
  plan.apparmor = apparmor_ == sys::AppArmor::kReady;
  plan.landlock_abi = landlock_abi_;
  plan.control = theirs.get();

  const bool grouped = cgroups_.host().version != sys::CgroupVersion::kNone;
  std::string failed;
  if (grouped)
    if (int error = cgroups_.Create(sandbox.name, failed); error < 0)
      return Failed(SpawnStep::kCgroup, "make cgroup", error, failed);
  sys::Fd group = grouped ? cgroups_.Open(sandbox.name) : sys::Fd();
  std::vector<sys::Fd> procs;
  if (grouped && !group.valid())
    if (int error = cgroups_.OpenProcs(sandbox.name, procs, failed); error < 0)
      return Failed(SpawnStep::kCgroup, "enter cgroup", error, failed);
  plan.procs_count = procs.size();

  int pidfd = -1;
  // The namespace belongs to its own host id, not to root: resources used up inside (inotify,
  // signals, keys) are charged to that id and starve nobody else.
  const bool own_id = spec.mode == Mode::kSystem;
  if (own_id && sys::SetEffectiveUid(sandbox.uid_base) < 0)
    return Failed(SpawnStep::kNamespaces, "take the sandbox's id", errno);
  long pid = sys::CloneSandbox(group.get(), pidfd);
  if (pid == 0) RunChild(plan);
  if (own_id && sys::SetEffectiveUid(0) < 0) abort();
  if (pid < 0) return Failed(SpawnStep::kNamespaces, "clone3", static_cast<int>(pid));
  sandbox.pid = static_cast<pid_t>(pid);
  sandbox.pidfd = sys::Fd(pidfd);
  theirs.Reset();

  if (auto written = WriteIdMaps(spec, sandbox); !written) return written;
  auto made = MakeMounts(spec, sandbox, sources);
  if (!made) return std::unexpected(made.error());

  if (std::ranges::any_of(mounts, [](auto& mount) { return mount.kind == MountKind::kSys; }))
    if (auto opened = OpenParts(*parts, *made); !opened) return opened;

  std::vector<int> fds;
  for (const sys::Fd& mount : *made) fds.push_back(mount.get());
  for (const sys::Fd& file : procs) fds.push_back(file.get());
  if (long sent = sys::SendMessage(sandbox.control.get(), "g", 1, fds); sent < 0)
    return Failed(SpawnStep::kNamespaces, "start child", static_cast<int>(sent));
  return {};
}

OrFailure<void> Workshop::ReadReport(Sandbox& sandbox) {
  pollfd wait{sandbox.control.get(), POLLIN, 0};
  if (poll(&wait, 1, kReportTimeoutMs) <= 0)
    return Failed(SpawnStep::kNamespaces, "wait for child", ETIMEDOUT);
  ChildReport report{};
  int received[1];
  int received_count = 0;
  long got =
      sys::ReceiveMessage(sandbox.control.get(), &report, sizeof report, received, received_count);
  if (received_count == 1) sandbox.listener = sys::Fd(received[0]);
  if (got != static_cast<long>(sizeof report))
    return Failed(SpawnStep::kNamespaces, "child died", ECHILD);
  if (report.error != 0) {
    report.operation[sizeof report.operation - 1] = report.detail[sizeof report.detail - 1] = '\0';
    return Failed(report.step, report.operation, report.error, report.detail);
  }
  if (!sandbox.listener.valid()) return Failed(SpawnStep::kVerify, "seccomp listener", EPERM);
  return {};
}

OrFailure<void> Workshop::BuildInto(const SandboxSpec& spec, const UpperChoice& choice,
                                    Sandbox& sandbox) {
  auto slot = TakeSlot();
  if (!slot) return std::unexpected(slot.error());
  sandbox.slot = *slot;
  sandbox.uid_base = kFirstId + *slot * kSlotSize;
  sandbox.name = "s" + std::to_string(++serial_);

  auto view = View(spec);
  if (!view) return std::unexpected(view.error());
  const std::vector<Source>& sources = view->sources;
  sandbox.mask = std::move(view->mask);
  sandbox.writes_outside = spec.WritesOutside();
  for (const Source& source : sources) sandbox.sources.push_back(source.identity);

  sandbox.in_memory = choice.in_memory;
  auto upper = !choice.kept_id.empty() ? store_.OpenKept(choice.kept_id, spec.caller.uid)
               : choice.in_memory
                   ? store_.CreateInMemory(sandbox.name, choice.memory_id, spec.caller.uid,
                                           choice.memory_bytes, choice.memory_inodes)
                   : store_.Create(sandbox.name);
  if (!upper) return std::unexpected(upper.error());
  sandbox.upper = std::move(*upper);
  sandbox.id = !choice.kept_id.empty() ? choice.kept_id : choice.memory_id;
  sandbox.kept = !sandbox.id.empty();
  sandbox.returning = !choice.kept_id.empty();
  // A mount at full quota silently turns read-only, so the limit is lifted until it is mounted.
  if (sandbox.kept && !sandbox.in_memory)
    if (auto lifted = store_.SetLimit(sandbox.upper.get(), 0); !lifted) return lifted;
  if (sandbox.kept && sandbox.in_memory)
    if (auto left = store_.LeaveRoom(sandbox.upper.get(), sandbox.id); !left) return left;
  if (auto made = MakeUpperDirectories(spec, sandbox, sources); !made) return made;
  return Clone(spec, sandbox, sources);
}

OrFailure<Sandbox> Workshop::Begin(const SandboxSpec& spec, const UpperChoice& choice) {
  Sandbox sandbox;
  sandbox.caller = spec.caller.uid;
  auto begun = BuildInto(spec, choice, sandbox);
  if (begun) return sandbox;
  CleanUpFailed(sandbox);
  return std::unexpected(begun.error());
}

OrFailure<void> Workshop::Finish(Sandbox& sandbox) {
  auto reported = ReadReport(sandbox);
  if (!reported) CleanUpFailed(sandbox);
  return reported;
}

OrFailure<Sandbox> Workshop::Build(const SandboxSpec& spec, const UpperChoice& choice) {
  auto sandbox = Begin(spec, choice);
  if (!sandbox) return sandbox;
  if (auto finished = Finish(*sandbox); !finished) return std::unexpected(finished.error());
  return sandbox;
}

void Workshop::CleanUpFailed(Sandbox& sandbox) {
  if (sandbox.pid > 0) {
    sys::PidfdSignal(sandbox.pidfd.get(), SIGKILL);
    while (waitpid(sandbox.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (sandbox.name.empty()) return;
  cgroups_.Remove(sandbox.name);
  if (sandbox.upper.valid() && !sandbox.returning)
    (void)store_.Discard(sandbox.kept ? sandbox.id : sandbox.name, sandbox.kept);
  Release(sandbox);
}

}  // namespace cloche::spawn
