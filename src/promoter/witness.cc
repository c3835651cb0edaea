#include "promoter/witness.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "promoter/annex.h"

namespace cloche::promoter {
namespace {

int PlaceOf(const Store::Entry& entry, uint32_t place) {
  return place == 0 ? entry.files.get() : entry.annexes.at(place - 1).get();
}

Mark Look(const Witness& witness, const Store::Entry& entry, const Realities& realities) {
  switch (witness.kind) {
    case WitnessKind::kTarget: {
      const auto directory = realities.at(witness.target).Directory(witness.target);
      return directory ? MarkAt((*directory)->get(), "") : Mark();
    }
    case WitnessKind::kDirectory:
      return MarkAt(PlaceOf(entry, witness.place), "");
    case WitnessKind::kFile:
      break;
  }
  return witness.place == 0 ? MarkAt(entry.directory.get(), kJournalName)
                            : MarkAt(PlaceOf(entry, witness.place), kAnnexIgnore);
}

std::string NameOf(const Witness& witness, const Promotion& promotion) {
  if (witness.kind == WitnessKind::kTarget) return witness.target;
  if (witness.place == 0) return "~/.local/state/cloche/promotions/" + promotion.id;
  return promotion.annexes.at(witness.place - 1).place;
}

// The first few of its paths, for people.
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
  // There it is that of the layer, which changes with the first write.
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

std::vector<Witness> FindWitnesses(const Promotion& promotion, const Store::Entry& entry,
                                   const Realities& realities) {
  std::vector<Witness> witnesses;
  for (const auto& [target, reality] : realities)
    witnesses.push_back({WitnessKind::kTarget, 0, target, {}});
  // Where overlayfs is, files and directories have numbers of their own.
  for (uint32_t place = 0; place <= promotion.annexes.size(); ++place)
    for (const WitnessKind kind : {WitnessKind::kDirectory, WitnessKind::kFile})
      witnesses.push_back({kind, place, "", {}});
  for (Witness& each : witnesses) each.mark = Look(each, entry, realities);
  return witnesses;
}

Status Recognize(Promotion& promotion, const Store::Entry& entry, const Realities& realities) {
  std::map<uint64_t, uint64_t> devices;
  for (const Witness& each : promotion.witnesses) {
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
    renumber(step.staged);
  }
  for (Parent& each : promotion.parents) renumber(each.before);
  return {};
}

}  // namespace cloche::promoter
