#include "change/apply/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>

#include <algorithm>

#include "change/apply/calls.h"
#include "change/apply/scope.h"
#include "sys/landlock.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

constexpr const char* kCure = "cloche doctor says what this machine lacks; nothing was applied";

std::string Above(const std::string& path) {
  return path.substr(0, std::max<size_t>(path.find_last_of('/'), 1));
}

sys::Fd OpenDirectory(const std::string& path) {
  return sys::Fd(sys::OpenWithoutSymlinks(path.c_str(), O_PATH | O_DIRECTORY));
}

// The directories in which names may come and go. For a requested path that is its parent, because
// the path itself may go; for the project, the project itself.
std::vector<std::string> Roots(const StateLayout& layout, const Wish& wish) {
  if (!wish.to.empty()) return {wish.to};
  std::vector<std::string> roots;
  if (wish.paths.empty() && wish.path_globs.empty())
    for (const LayoutSlot& slot : layout.slots) roots.push_back(slot.target);
  for (const std::string& path : wish.paths) {
    std::string root = path == wish.project ? path : Above(path);
    while (root != "/" && !OpenDirectory(root).valid()) root = Above(root);
    roots.push_back(std::move(root));
  }
  for (const rules::Glob& glob : wish.path_globs) {
    std::string root = RootOf(glob, wish.project);
    while (root != "/" && !OpenDirectory(root).valid()) root = Above(root);
    roots.push_back(std::move(root));
  }
  return roots;
}

}  // namespace

Status ConfineCalls() {
  if (int error = GiveUpOtherCalls(); error < 0)
    return Fail(Code::kUnavailable, fmt::format("give up system calls: {}", strerror(-error)),
                kCure);
  return {};
}

Result<std::vector<SideStoreDirectory>> Confine(const StateLayout& layout, const Wish& wish,
                                                const Store& store, bool dry_run) {
  std::vector<sys::Fd> roots;
  std::vector<SideStoreDirectory> side_stores;
  std::vector<sys::LandlockGrant> grants;
  if (!dry_run) {
    grants.push_back({store.directory()});
    for (const std::string& path : Roots(layout, wish)) {
      sys::Fd root = OpenDirectory(path);
      if (!root.valid()) continue;  // then nothing can be put there
      grants.push_back({root.get()});
      const std::string target = wish.to.empty() ? TargetOf(layout, path) : wish.to;
      const std::string& project = wish.to.empty() ? wish.project : wish.to;
      if (auto side_store = PrepareSideStore(target, project, store.directory(), root.get())) {
        grants.push_back({side_store->directory.get()});
        grants.push_back({side_store->place.get(), false});
        side_stores.push_back(std::move(*side_store));
      }
      roots.push_back(std::move(root));
    }
  }
  if (int error = sys::SetNoNewPrivileges(); error < 0)
    return Fail(Code::kUnavailable, fmt::format("give up privileges: {}", strerror(-error)), kCure);
  if (const sys::LandlockFailure refused = sys::EnterWritingDomain(grants);
      refused.operation != nullptr)
    return Fail(Code::kUnavailable,
                fmt::format("{}: {}", refused.operation, strerror(refused.error)), kCure);
  CLOCHE_TRY(ConfineCalls());
  return side_stores;
}

}  // namespace cloche::apply
