#include "change/apply/side_store.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shown_path.h"
#include "base/side_store_name.h"
#include "base/text.h"
#include "change/apply/filesystem_id.h"
#include "policy/paths.h"
#include "sys/directory.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string Below(const std::string& directory, const std::string& name) {
  return (directory == "/" ? "" : directory) + "/" + name;
}

bool IsOursAlone(int directory) {
  struct stat info;
  return fstat(directory, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 022) == 0;
}

// Hides our own directory's coming and going in `place` from the modification time of `place`.
class KeepTime {
 public:
  explicit KeepTime(int place) : place_(place) { known_ = fstat(place, &info_) == 0; }
  // Call only if it came or went; otherwise keep the time that others set.
  void Restore() const {
    const timespec times[2] = {{0, UTIME_OMIT}, info_.st_mtim};
    if (known_) (void)futimens(place_, times);  // fails if `place` is not ours
  }

 private:
  int place_;
  bool known_ = false;
  struct stat info_ {};
};

// Creates it in `place` if it does not exist.
int MakeSideStores(int place) {
  const KeepTime time(place);
  if (mkdirat(place, kSideStoreName, 0700) < 0) return errno == EEXIST ? 0 : -errno;
  time.Restore();
  return 0;
}

// Removes it if it is empty.
void DropSideStores(int place) {
  const KeepTime time(place);
  if (unlinkat(place, kSideStoreName, AT_REMOVEDIR) == 0) time.Restore();
}

Mount MountOf(int directory) {
  struct stat info {};
  (void)fstat(directory, &info);
  return {info.st_dev, sys::MountIdOf(directory)};
}

bool CanUse(int place) {
  const sys::Fd all(openat(place, kSideStoreName, kDirectory));
  if (!all.valid()) return errno == ENOENT && faccessat(place, ".", W_OK | X_OK, AT_EACCESS) == 0;
  return IsOursAlone(all.get());
}

// `place`/.cloche-promotions/`id`, mode 0700.
Result<sys::Fd> MakeIn(int place, const std::string& id) {
  const auto failed = [](int error = errno) {
    return Fail(error == ENOSPC || error == EDQUOT ? Code::kExhausted : Code::kUnavailable,
                fmt::format("make {}: {}", kSideStoreName, strerror(error)),
                "make room; nothing was applied");
  };
  if (int error = MakeSideStores(place); error < 0) return failed(-error);
  const sys::Fd all(openat(place, kSideStoreName, kDirectory));
  if (!all.valid()) return failed();
  if (!IsOursAlone(all.get()))
    return Fail(Code::kDenied, fmt::format("use {}: others can write to it", kSideStoreName));
  if (mkdirat(all.get(), id.c_str(), 0700) < 0 && errno != EEXIST) return failed();
  sys::Fd made(openat(all.get(), id.c_str(), kDirectory));
  if (!made.valid()) return failed();
  const sys::Fd ignore(
      openat(made.get(), kSideStoreIgnore, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!ignore.valid() || write(ignore.get(), "*\n", 2) != 2) return failed();
  return made;
}

Status RemoveOne(const SideStore& side_store, const std::string& id) {
  ASSIGN_OR_RETURN(const Reality reality, Reality::Open(side_store.target));
  const auto top = reality.Directory(side_store.target);
  if (side_store.mark.inode != 0 && top && !IsSame(side_store.mark, MarkAt((*top)->get(), "")))
    return Fail(Code::kUnavailable,
                fmt::format("remove {} of {}: its file system is away", kSideStoreName, id),
                "mount it as it was; it goes with the next promotion then");
  const auto place = reality.Directory(side_store.place);
  if (!place) return std::unexpected(place.error());
  const sys::Fd all(openat((*place)->get(), kSideStoreName, kDirectory));
  if (!all.valid() && errno == ENOENT) return {};
  if (!all.valid() || !IsOursAlone(all.get()))
    return Fail(Code::kUnavailable, "remove " +
                                        EscapeForTerminal(Below(side_store.place, kSideStoreName)) +
                                        ": it is not yours alone");
  if (int error = sys::RemoveTree(all.get(), id.c_str()); error < 0 && error != -ENOENT)
    return Fail(Code::kUnavailable, fmt::format("remove {}: {}", id, strerror(-error)));
  DropSideStores((*place)->get());  // fails if others use it
  return {};
}

}  // namespace

SideStores::SideStores(const std::string& project, Journal& journal, Store::Entry& entry,
                       Promotion& promotion)
    : project_(project), journal_(journal), entry_(entry), promotion_(promotion) {
  known_[MountOf(entry.files.get())] = 0;
}

Result<uint32_t> SideStores::For(const Reality& reality, const std::string& path, int directory) {
  const Mount mount = MountOf(directory);
  if (const auto found = known_.find(mount); found != known_.end()) return found->second;
  ASSIGN_OR_RETURN(const uint32_t made, Make(reality, path, mount));
  known_[mount] = made;
  return made;
}

// Only the top of the filesystem and the project qualify: sandboxes do not see it there.
Result<uint32_t> SideStores::Make(const Reality& reality, const std::string& path,
                                  const Mount& mount) {
  bool has_place = false;
  for (const std::string& place : {reality.target(), project_}) {
    const auto directory = IsAtOrBelow(place, reality.target())
                               ? reality.Directory(place)
                               : Result<std::shared_ptr<const sys::Fd>>(
                                     std::unexpected(Error{Code::kNotFound, "", ""}));
    if (!directory || MountOf((*directory)->get()) != mount) continue;
    has_place = true;
    if (!CanUse((*directory)->get())) continue;
    const auto top = reality.Directory(reality.target());
    if (!top) return std::unexpected(top.error());
    promotion_.side_stores.push_back({reality.target(), place, MarkAt((*top)->get(), "")});
    const auto number = static_cast<uint32_t>(promotion_.side_stores.size());
    CLOCHE_TRY(journal_.WriteSideStore(promotion_.side_stores.back()));
    auto made = MakeIn((*directory)->get(), entry_.id);
    if (!made) return std::unexpected(made.error());
    entry_.side_stores.push_back(std::move(*made));
    return number;
  }
  const auto top = reality.Directory(reality.target());
  if (!has_place && top && MountOf((*top)->get()).mount == mount.mount)
    return Fail(Code::kUnavailable,
                fmt::format("promote {}: it is in a btrfs subvolume inside {}, where nothing that "
                            "is replaced can be kept out of the reach of sandboxes",
                            ShownPath(path), ShownPath(reality.target())),
                "leave it out with --exclude, or make the subvolume a mount (mount --bind DIR DIR) "
                "and the change in a new sandbox; nothing was applied");
  return Fail(Code::kUnavailable,
              fmt::format("promote {}: it is on another file system than ~/.local/state/cloche, "
                          "and you can write neither at its top nor in the project",
                          ShownPath(path)),
              "what is replaced is kept there: make one of them writable for you; nothing was "
              "applied");
}

std::optional<SideStoreDirectory> PrepareSideStore(const std::string& target,
                                                   const std::string& project, int store,
                                                   int directory) {
  const Mount mount = MountOf(directory);
  if (mount == MountOf(store)) return std::nullopt;
  for (const std::string& path : {target, project}) {
    SideStoreDirectory found;
    found.place = sys::Fd(sys::OpenWithoutSymlinks(path.c_str(), O_RDONLY | O_DIRECTORY));
    if (!found.place.valid() || MountOf(found.place.get()) != mount || !CanUse(found.place.get()))
      continue;
    (void)MakeSideStores(found.place.get());
    found.directory = sys::Fd(openat(found.place.get(), kSideStoreName, kDirectory));
    if (found.directory.valid()) return found;
  }
  return std::nullopt;
}

void DropIfEmpty(const SideStoreDirectory& place) { DropSideStores(place.place.get()); }

Status OpenSideStores(const Promotion& promotion, Realities& realities, Store::Entry& entry) {
  for (const SideStore& side_store : promotion.side_stores) {
    CLOCHE_TRY(OpenReality(realities, side_store.target));
    const std::string path = Below(Below(side_store.place, kSideStoreName), entry.id);
    const auto directory = realities.at(side_store.target).Directory(path);
    if (!directory || !IsOursAlone((*directory)->get()))
      return Fail(Code::kUnavailable,
                  fmt::format("open {}: {}", ShownPath(path),
                              directory ? "it is not yours alone" : "it is not there"),
                  "it is on another file system: mount that as it was");
    entry.side_stores.emplace_back(fcntl((*directory)->get(), F_DUPFD_CLOEXEC, 0));
  }
  return {};
}

Status RemovePromotion(const Store& store, const std::string& id) {
  if (const auto entry = store.OpenEntry(id))
    if (const auto head = Journal::ReadHead(entry->directory.get(), id))
      for (const SideStore& side_store : head->side_stores) CLOCHE_TRY(RemoveOne(side_store, id));
  return store.Remove(id);
}

void DropEmptySideStores(const Promotion& promotion) {
  for (const SideStore& side_store : promotion.side_stores) {
    const auto reality = Reality::Open(side_store.target);
    if (!reality) continue;
    const auto place = reality->Directory(side_store.place);
    const auto own =
        reality->Directory(Below(Below(side_store.place, kSideStoreName), promotion.id));
    if (!place || !own) continue;
    bool empty = true;
    sys::Directory list((*own)->get(), ".");
    while (const dirent* entry = list.Next()) empty &= strcmp(entry->d_name, kSideStoreIgnore) == 0;
    if (empty && list.error() == 0)
      (void)RemoveOne(side_store, promotion.id);  // otherwise it goes with the promotion
  }
}

}  // namespace cloche::apply
