#include "spawn/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sys/directory.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

struct Known {
  unsigned number = 0;
  std::string target;  // "" = from before slots had names: the number-th overlay
};

bool IsMounted(const MountOp& op, const Source& source) {
  return op.kind == MountKind::kOverlay && source.valid() && source.directory;
}

// The sandbox wrote the path.
bool HasChanges(int upper, const std::string& path) {
  const sys::Fd found(sys::OpenBeneath(upper, path.c_str(), O_PATH | O_NOFOLLOW, false));
  struct stat info;
  if (!found.valid()) return errno != ENOENT;
  if (fstat(found.get(), &info) < 0 || !S_ISDIR(info.st_mode)) return true;
  return !sys::IsEmptyDirectory(found.get(), ".");
}

OrFailure<std::vector<Known>> ReadSlots(int upper) {
  std::vector<Known> found;
  sys::Directory list(upper, ".");
  while (const dirent* entry = list.Next()) {
    const std::string name = entry->d_name;
    Known slot;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), slot.number);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    char target[PATH_MAX] = {};
    if (readlinkat(upper, (name + "/t").c_str(), target, sizeof target - 1) < 0 && errno != ENOENT)
      return Failed(SpawnStep::kPool, "read upper slot", errno, name);
    slot.target = target;
    found.push_back(std::move(slot));
  }
  if (list.error() != 0) return Failed(SpawnStep::kPool, "list upper", list.error());
  // Named slots first: they are certain.
  std::ranges::sort(found, {},
                    [](const Known& slot) { return std::pair(slot.target.empty(), slot.number); });
  return found;
}

bool IsBelow(const std::string& path, const std::string& parent) {
  return parent == "/" ? path != "/" : path.starts_with(parent + "/");
}

}  // namespace

OrFailure<Slots> Slots::Of(int upper, const SandboxSpec& spec, const std::vector<Source>& sources) {
  auto known = ReadSlots(upper);
  if (!known) return std::unexpected(known.error());
  Slots slots;
  for (const Known& slot : *known) slots.next_ = std::max(slots.next_, slot.number + 1);
  std::vector<bool> claimed(known->size());
  std::vector<std::string> targets;
  for (size_t i = 0, index = 0; i < spec.mounts.size(); ++i) {
    const MountOp& op = spec.mounts[i];
    if (op.kind != MountKind::kOverlay) continue;
    targets.push_back(IsMounted(op, sources[i]) ? op.target : "");
    std::string& name = slots.names_.emplace_back();
    for (size_t k = 0; k < known->size() && name.empty(); ++k) {
      const Known& slot = (*known)[k];
      const bool fits = slot.target.empty() ? slot.number == index : slot.target == targets.back();
      if (claimed[k] || !fits || targets.back().empty()) continue;
      claimed[k] = true;
      name = std::to_string(slot.number);
    }
    ++index;
  }
  for (size_t k = 0; k < known->size(); ++k) {
    const Known& slot = (*known)[k];
    if (!claimed[k] && HasChanges(upper, std::to_string(slot.number) + "/u"))
      slots.away_.push_back(slot.target.empty() ? "/" : slot.target);
  }
  // Changes made before something was mounted over them.
  for (size_t outer = 0; outer < targets.size(); ++outer)
    for (const std::string& target : targets) {
      if (slots.names_[outer].empty() || target.empty() || !IsBelow(target, targets[outer]))
        continue;
      const std::string rest =
          targets[outer] == "/" ? target : target.substr(targets[outer].size());
      if (HasChanges(upper, slots.names_[outer] + "/u" + rest)) slots.away_.push_back(target);
    }
  return slots;
}

OrFailure<void> Slots::Complete(int upper, const SandboxSpec& spec,
                                const std::vector<Source>& sources) {
  for (size_t i = 0, index = 0; i < spec.mounts.size(); ++i) {
    const MountOp& op = spec.mounts[i];
    if (op.kind != MountKind::kOverlay) continue;
    std::string& name = names_[index++];
    if (op.read_only || !IsMounted(op, sources[i])) continue;
    if (name.empty()) {
      name = std::to_string(next_++);
      if (mkdirat(upper, name.c_str(), 0700) < 0)
        return Failed(SpawnStep::kPool, "make upper slot", errno, name);
    }
    // A slot from before slots had names was found by its number, and keeps it.
    if (symlinkat(op.target.c_str(), upper, (name + "/t").c_str()) < 0 && errno != EEXIST)
      return Failed(SpawnStep::kPool, "name upper slot", errno, op.target);
  }
  return {};
}

}  // namespace cloche::spawn
