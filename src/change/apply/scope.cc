#include "change/apply/scope.h"

#include <algorithm>

#include "base/side_store_name.h"
#include "policy/paths.h"

namespace cloche::apply {

bool Covers(const std::vector<std::string>& directories, const std::string& path) {
  return std::ranges::any_of(directories,
                             [&](const std::string& each) { return IsAtOrBelow(path, each); });
}

namespace {

// Matches as a pattern, or literally as a name such as "[id].tsx".
bool Stands(const rules::Glob& glob, const std::string& path) {
  if (glob.Forbids(path.substr(1))) return true;
  const std::string& name = glob.pattern();
  return name.starts_with('/') ? IsAtOrBelow(path, name)
                               : (path + "/").find("/" + name + "/") != std::string::npos;
}

}  // namespace

bool Matches(const std::vector<rules::Glob>& globs, const std::string& path) {
  return std::ranges::any_of(globs, [&](const rules::Glob& each) { return Stands(each, path); });
}

bool Asked(const Wish& wish, const std::string& path) {
  if (Covers(wish.exclude, path) || Matches(wish.exclude_globs, path) ||
      std::ranges::find(wish.leave, path) != wish.leave.end())
    return false;
  if (!wish.to.empty() && !IsAtOrBelow(path, wish.project)) return false;
  if (wish.paths.empty() && wish.path_globs.empty()) return true;
  return Covers(wish.paths, path) ||
         std::ranges::any_of(wish.path_globs, [&](const rules::Glob& each) {
           return Stands(each, path) && IsAtOrBelow(path, RootOf(each, wish.project));
         });
}

std::string RootOf(const rules::Glob& glob, const std::string& project) {
  const std::string& pattern = glob.pattern();
  if (!pattern.starts_with('/')) return project.empty() ? "/" : project;
  const size_t special = std::min(pattern.find_first_of("*?[\\"), pattern.size());
  const size_t slash = pattern.rfind('/', special == 0 ? 0 : special - 1);
  return slash == 0 || slash == std::string::npos ? "/" : pattern.substr(0, slash);
}

Unmatched::Unmatched(const Wish& wish) {
  for (const auto* list : {&wish.paths, &wish.exclude, &wish.keep_ours, &wish.take_theirs})
    for (const std::string& each : *list) paths_.push_back(&each);
  for (const auto* list : {&wish.path_globs, &wish.exclude_globs})
    for (const rules::Glob& each : *list) globs_.push_back(&each);
}

void Unmatched::See(const std::string& path) {
  std::erase_if(paths_, [&](const std::string* each) { return IsAtOrBelow(path, *each); });
  std::erase_if(globs_, [&](const rules::Glob* each) { return Stands(*each, path); });
}

std::vector<std::string> Unmatched::List() const {
  std::vector<std::string> list;
  for (const std::string* each : paths_) list.push_back(*each);
  for (const rules::Glob* each : globs_) list.push_back(each->pattern());
  return list;
}

change::Group NoiseOf(const Wish& wish, const std::string& path) {
  const change::Group group = change::Classify(path, wish.project, wish.home);
  if (wish.with_noise || group == change::Group::kReal) return change::Group::kReal;
  // If the caller named a path inside a cache, its place no longer makes it noise.
  const auto names = [&](const std::string& each) {
    return IsAtOrBelow(path, each) &&
           change::Classify(path, each, wish.home) == change::Group::kReal;
  };
  const bool named = std::ranges::any_of(wish.paths, names) ||
                     std::ranges::any_of(wish.path_globs, [&](const rules::Glob& each) {
                       return names(RootOf(each, wish.project));
                     });
  return named ? change::Group::kReal : group;
}

bool IsKept(const Wish& wish, const std::string& path) {
  if ((path + "/").find(std::string("/") + kSideStoreName + "/") != std::string::npos) return true;
  return !wish.home.empty() && IsAtOrBelow(path, wish.home + "/.local/state/cloche/promotions");
}

bool IsSettings(const Wish& wish, const std::string& path) {
  return !wish.home.empty() && IsAtOrBelow(path, wish.home + "/.config/cloche");
}

std::string TargetOf(const StateLayout& layout, const std::string& path) {
  std::string found;
  for (const LayoutSlot& slot : layout.slots)
    if (IsAtOrBelow(path, slot.target) && slot.target.size() >= found.size()) found = slot.target;
  return found;
}

}  // namespace cloche::apply
