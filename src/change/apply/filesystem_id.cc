#include "change/apply/filesystem_id.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "change/apply/side_store.h"

namespace cloche::apply {
namespace {

int LayerFileOf(const Store::Entry& entry, uint32_t place) {
  return place == 0 ? entry.files.get() : entry.side_stores.at(place - 1).get();
}

Mark Look(const FilesystemId& filesystem_id, const Store::Entry& entry,
          const Realities& realities) {
  switch (filesystem_id.kind) {
    case FilesystemIdKind::kTarget: {
      const auto directory = realities.at(filesystem_id.target).Directory(filesystem_id.target);
      return directory ? MarkAt((*directory)->get(), "") : Mark();
    }
    case FilesystemIdKind::kDirectory:
      return MarkAt(LayerFileOf(entry, filesystem_id.place), "");
    case FilesystemIdKind::kFile:
      break;
  }
  return filesystem_id.place == 0
             ? MarkAt(entry.directory.get(), kJournalName)
             : MarkAt(LayerFileOf(entry, filesystem_id.place), kSideStoreIgnore);
}

std::string NameOf(const FilesystemId& filesystem_id, const Promotion& promotion) {
  if (filesystem_id.kind == FilesystemIdKind::kTarget) return filesystem_id.target;
  if (filesystem_id.place == 0) return "~/.local/state/cloche/promotions/" + promotion.id;
  return promotion.side_stores.at(filesystem_id.place - 1).place;
}

// The first few of its paths, for messages.
std::string About(const Promotion& promotion) {
  constexpr size_t kFew = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kFew, promotion.steps.size()); ++i)
    text += (i == 0 ? "" : ", ") + EscapeForTerminal(promotion.steps[i].path);
  if (promotion.steps.size() > kFew)
    text += fmt::format(" and {} more", promotion.steps.size() - kFew);
  return text;
}

}  // namespace

Mark MarkAt(int directory, const std::string& name) {
  const int flags = name.empty() ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
  struct stat info;
  if (fstatat(directory, name.c_str(), &info, flags) < 0) return {};
  Mark mark{info.st_dev, info.st_ino, 0, 0};
  struct statfs system;
  if (fstatfs(directory, &system) < 0) return mark;
  mark.file_system = (uint64_t{static_cast<uint32_t>(system.f_fsid.__val[0])} << 32) |
                     static_cast<uint32_t>(system.f_fsid.__val[1]);
  // On overlayfs this is the birth time in the layer, which changes with the first write.
  if (static_cast<long>(system.f_type) == OVERLAYFS_SUPER_MAGIC) return mark;
  struct statx more {};
  if (statx(directory, name.c_str(), flags, STATX_BTIME, &more) == 0 &&
      (more.stx_mask & STATX_BTIME) != 0)
    mark.born_ns = int64_t{more.stx_btime.tv_sec} * 1'000'000'000 + more.stx_btime.tv_nsec;
  return mark;
}

bool IsSame(const Mark& then, const Mark& now) {
  if (then.inode == 0 || then.inode != now.inode) return false;
  const bool dated = then.born_ns != 0 && now.born_ns != 0;
  if (dated) return then.born_ns == now.born_ns;
  return then.device == now.device ||
         (then.file_system != 0 && then.file_system == now.file_system);
}

std::vector<FilesystemId> FindFilesystemIds(const Promotion& promotion, const Store::Entry& entry,
                                            const Realities& realities) {
  std::vector<FilesystemId> filesystem_ids;
  for (const auto& [target, reality] : realities)
    filesystem_ids.push_back({FilesystemIdKind::kTarget, 0, target, {}});
  // On overlayfs, files and directories have different device numbers.
  for (uint32_t place = 0; place <= promotion.side_stores.size(); ++place)
    for (const FilesystemIdKind kind : {FilesystemIdKind::kDirectory, FilesystemIdKind::kFile})
      filesystem_ids.push_back({kind, place, "", {}});
  for (FilesystemId& each : filesystem_ids) each.mark = Look(each, entry, realities);
  return filesystem_ids;
}

Status Recognize(Promotion& promotion, const Store::Entry& entry, const Realities& realities) {
  std::map<uint64_t, uint64_t> devices;
  for (const FilesystemId& each : promotion.filesystem_ids) {
    const Mark now = Look(each, entry, realities);
    const auto known = devices.find(each.mark.device);
    const bool contradicts = known != devices.end() && known->second != now.device;
    if (!IsSame(each.mark, now) || contradicts)
      return Fail(
          Code::kUnavailable,
          fmt::format("open {}: it is not what it was when {} was made, so that {} may be "
                      "old or new",
                      EscapeForTerminal(NameOf(each, promotion)), promotion.id, About(promotion)),
          "nothing was touched: mount its file system as it was, and try again");
    devices.emplace(each.mark.device, now.device);
  }
  const auto renumber = [&](Identity& of) {
    const auto found = devices.find(of.device);
    if (of.exists() && found != devices.end()) of.device = found->second;
  };
  for (Step& step : promotion.steps) {
    renumber(step.before);
    renumber(step.prepared);
  }
  for (Parent& each : promotion.parents) renumber(each.before);
  return {};
}

}  // namespace cloche::apply
