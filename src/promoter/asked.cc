#include "promoter/asked.h"

#include <algorithm>

#include "base/annex_name.h"
#include "policy/paths.h"

namespace cloche::promoter {

bool Covers(const std::vector<std::string>& directories, const std::string& path) {
  return std::ranges::any_of(directories,
                             [&](const std::string& each) { return IsAtOrBelow(path, each); });
}

bool Asked(const Wish& wish, const std::string& path) {
  if (Covers(wish.exclude, path) || std::ranges::find(wish.leave, path) != wish.leave.end())
    return false;
  if (!wish.to.empty() && !IsAtOrBelow(path, wish.project)) return false;
  return wish.paths.empty() || Covers(wish.paths, path);
}

bool IsKept(const Wish& wish, const std::string& path) {
  if ((path + "/").find(std::string("/") + kAnnexName + "/") != std::string::npos) return true;
  return !wish.home.empty() && IsAtOrBelow(path, wish.home + "/.local/state/cloche/promotions");
}

std::string TargetOf(const StateLayout& layout, const std::string& path) {
  std::string found;
  for (const LayoutSlot& slot : layout.slots)
    if (IsAtOrBelow(path, slot.target) && slot.target.size() >= found.size()) found = slot.target;
  return found;
}

}  // namespace cloche::promoter
