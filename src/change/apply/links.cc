#include "change/apply/links.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/side_store_name.h"
#include "change/apply/scope.h"
#include "change/rules/glob.h"
#include "change/rules/key_values.h"
#include "change/rules/triggers.h"
#include "change/walk/merge.h"
#include "sys/directory.h"
#include "sys/file.h"

namespace cloche::apply {
namespace {

constexpr size_t kMostEntries = 1'000'000;
constexpr size_t kDeepest = 1000;       // levels in a project
constexpr size_t kLevelsElsewhere = 4;  // below a directory of trigger files
constexpr size_t kMostHops = 40;        // as in the kernel
constexpr size_t kMostSteps = 4096;     // for one link, following the targets of both sides
constexpr size_t kMostNames = 256;      // of one path
constexpr size_t kMostNamesOfAll = 400'000;
constexpr size_t kMostText = 1 << 20;

std::string Above(const std::string& path) {
  return path.substr(0, std::max<size_t>(path.find_last_of('/'), 1));
}

std::optional<std::string> ReadTarget(int directory, const char* name) {
  char target[PATH_MAX];
  const ssize_t size = readlinkat(directory, name, target, sizeof target);
  if (size <= 0) return std::nullopt;
  return std::string(target, static_cast<size_t>(size));
}

std::string ReadSmall(int directory, const char* name, int follow = O_NOFOLLOW) {
  const sys::Fd file(openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | follow));
  struct stat info;
  std::string text;
  if (!file.valid() || fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode)) return text;
  if (sys::ReadAll(file.get(), text, kMostText) < 0) text.clear();
  return text;
}

// Resolves a path in a git setting.
std::string Joined(const std::string& directory, const std::string& path, const std::string& home) {
  if (path.starts_with('/')) return path;
  if (path.starts_with("~/")) return home + path.substr(1);
  return directory + "/" + path;
}

// The repository that a `.git` file names; "" if it names none.
std::string GitDirectory(std::string_view text) {
  constexpr std::string_view kBegin = "gitdir:";
  if (!text.starts_with(kBegin)) return "";
  text.remove_prefix(kBegin.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return std::string(text.substr(0, text.find_first_of("\r\n")));
}

// Places where people link to their own files. Packaged programs and libraries are left out; there
// are many.
bool IsSearched(const std::string& place, const std::string& home) {
  if (!home.empty() && home != "/" && place.starts_with(home + "/")) return true;
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"/etc/", "/usr/local/", "/opt/", "/var/spool/"},
      [&](std::string_view top) { return place.starts_with(top); });
}

// Packaged links lead from one packaged file to the next. They are not followed unless a packaged
// file changes.
bool IsPackaged(std::string_view path) {
  return path.starts_with("/usr/") && !path.starts_with("/usr/local/");
}

// Loose objects and packs of git: many, and never links that matter.
bool IsObjects(const std::string& path, std::string_view name) {
  if (!path.ends_with("/.git/objects")) return false;
  return name == "pack" || name.size() == 2;
}

}  // namespace

void Links::Add(const std::string& path, std::string target) {
  targets_[path].insert(std::move(target));
}

// Changes are sorted by path, so a link may come after its target.
Status Links::TakeTheSandboxs(const StateLayout& layout, const Wish& wish) {
  walk::MergedWalk walk(layout, walk::Renames::kExpand);
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<walk::Entry> entry, walk.Next());
    if (!entry) return {};
    if (!Asked(wish, entry->path) || !entry->after) continue;
    anything_ = true;
    std::string path = entry->path;
    if (!wish.to.empty()) path = wish.to + path.substr(wish.project.size());
    packaged_ = packaged_ || IsPackaged(path);
    const walk::LayerFile& after = *entry->after;
    const bool is_link = S_ISLNK(after.info.st_mode);
    const bool was_link = entry->before && S_ISLNK(entry->before->info.st_mode);
    if (is_link != was_link && entry->before) plain_.insert(path);
    if (is_link) {
      if (auto target = ReadTarget(after.directory->get(), after.name.c_str()))
        Add(path, std::move(*target));
    } else if (after.IsFile() && after.name == ".git") {
      if (std::string target = GitDirectory(ReadSmall(after.directory->get(), ".git"));
          !target.empty())
        Add(path, std::move(target));
    }
  }
}

void Links::SearchGit(int directory, const std::string& path, bool is_directory) {
  const std::string git = path + "/.git";
  const GitNames names{git, path};
  std::string own = git;
  if (!is_directory) {
    const std::string target = GitDirectory(ReadSmall(directory, ".git"));
    if (target.empty()) return;
    Add(git, target);
    // Files that git settings name are also found below the name of this `.git` file.
    plain_.insert(git);
    own = Joined(path, target, "");
    // An additional work tree takes its settings and hooks from its main repository.
    std::string common = ReadSmall(AT_FDCWD, (own + "/commondir").c_str(), 0);
    common.resize(std::min(common.find_first_of("\r\n"), common.size()));
    if (!common.empty()) {
      common = Joined(own, common, "");
      Add(git + "/hooks", common + "/hooks");
      plain_.insert(git + "/hooks");
      ReadGitConfig(common + "/config", names, 0);
    }
  }
  for (const char* file : {"/config", "/config.worktree"}) ReadGitConfig(own + file, names, 0);
  ReadGitConfig("/etc/gitconfig", names, 0);
  if (home_.empty()) return;
  for (const char* global : {"/.gitconfig", "/.config/git/config"})
    ReadGitConfig(home_ + global, names, 0);
}

void Links::ReadGitConfig(const std::string& file, const GitNames& names, size_t depth) {
  constexpr size_t kMostIncludes = 10;  // as in git
  if (depth > kMostIncludes || !settings_.emplace(names.directory, file).second) return;
  // Read from reality, which may have it behind a link.
  const auto values =
      rules::ReadKeyValues(rules::Format::kGitConfig, ReadSmall(AT_FDCWD, file.c_str(), 0));
  if (!values) return;
  std::string top = names.top;
  for (const rules::KeyValue& each : *values)
    if (each.key == "core.worktree" && names.top.empty())
      top = Joined(names.directory, each.value, home_);
  const auto lead = [&](const std::string& name, const std::string& target) {
    Add(name, target);
    plain_.insert(name);
  };
  for (const rules::KeyValue& each : *values) {
    // Hooks run at the top of the work tree; an include is relative to the including file.
    if (rules::StarMatches("core.hookspath*", each.key))
      lead(names.directory + "/hooks", Joined(top, each.value, home_));
    else if (rules::StarMatches("core.attributesfile*", each.key))
      lead(names.directory + "/info/attributes", Joined(top, each.value, home_));
    else if (each.key == "include.path" || rules::StarMatches("includeif.*.path", each.key)) {
      const std::string target = Joined(Above(file), each.value, home_);
      lead(names.directory + "/config", target);
      ReadGitConfig(target, names, depth + 1);
    } else if (IsProgramOfGit(each.key, each.value)) {
      named_files_.AddCommand(each.value, top, home_,
                              {"git-hooks", "git starts it: " + each.key + " in " + file});
    }
  }
}

// Reads files that name other files that run by themselves, and makefiles, which can name anything.
void Links::SearchNaming(int directory, const char* name, const std::string& path) {
  if (!NamesOthers(path, name) || path.find("/node_modules/") != path.npos) return;
  const std::string text = ReadSmall(directory, name);
  const std::string& top = project_.empty() ? path : project_;
  for (const std::string& command : named_files_.AddFrom(path, name, text, {path, top}, home_))
    make_commands_.append(command).append(" ");
}

// The project may be a subdirectory of a repository.
void Links::SearchAbove(const std::string& project) {
  for (std::string path = project; path.size() > 1;) {
    path = Above(path);
    struct stat info;
    const std::string git = (path == "/" ? "" : path) + "/.git";
    if (lstat(git.c_str(), &info) < 0 || S_ISLNK(info.st_mode)) continue;
    const sys::Fd directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory.valid()) SearchGit(directory.get(), path, S_ISDIR(info.st_mode));
  }
}

void Links::Search(int directory, const char* name, const std::string& path, size_t levels) {
  const auto list = std::make_unique<sys::Directory>(directory, name);
  if (!list->valid()) {
    // A directory we may not read leads nowhere; one we lack descriptors for might.
    if (list->error() == EMFILE || list->error() == ENFILE) whole_ = false;
    return;
  }
  std::vector<std::string> below;
  while (const dirent* entry = list->Next()) {
    if (++seen_ > kMostEntries) {
      whole_ = false;
      return;
    }
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) {
      struct stat info;
      if (fstatat(list->fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0)
        type = static_cast<unsigned char>(IFTODT(info.st_mode));
    }
    if (type == DT_LNK) {
      if (auto target = ReadTarget(list->fd(), entry->d_name))
        Add(path + "/" + entry->d_name, std::move(*target));
    } else if (type == DT_DIR && !IsObjects(path, entry->d_name) &&
               std::string_view(entry->d_name) != kSideStoreName) {
      below.emplace_back(entry->d_name);
    }
    if (in_project_ && type == DT_REG) SearchNaming(list->fd(), entry->d_name, path);
    if (std::string_view(entry->d_name) == ".git" && type != DT_LNK)
      SearchGit(list->fd(), path, type == DT_DIR);
    if (std::string_view(entry->d_name) == "config" && type != DT_DIR &&
        path.find("/.git/modules/") != path.npos)
      ReadGitConfig(path + "/config", {path, ""}, 0);
  }
  if (below.empty()) return;
  if (levels == 0) {
    if (in_project_) whole_ = false;
    return;
  }
  for (const std::string& each : below)
    Search(list->fd(), each.c_str(), path + "/" + each, levels - 1);
}

// `path` is a directory, "" for the root. Stops at a link: its target is found under its own name.
void Links::Expand(const std::string& path, std::string_view glob) {
  const size_t end = std::min(glob.find('/'), glob.size());
  const std::string_view part = glob.substr(0, end);
  const std::string_view rest = glob.substr(std::min(end + 1, glob.size()));
  if (part == "**") return Search(AT_FDCWD, path.c_str(), path, kLevelsElsewhere);
  const auto take = [&](const std::string& name) {
    const std::string whole = path + "/" + name;
    if (const auto& target = RealTarget(whole))
      Add(whole, *target);
    else if (!rest.empty())
      Expand(whole, rest);
  };
  if (part.find_first_of("*?") == part.npos) return take(std::string(part));
  for (const std::string& name : NamesIn(path))
    if (rules::GlobMatches(part, name)) take(name);
}

const std::vector<std::string>& Links::NamesIn(const std::string& path) {
  const auto [found, fresh] = lists_.try_emplace(path);
  if (!fresh) return found->second;
  sys::Directory list(AT_FDCWD, path.empty() ? "/" : path.c_str());
  while (const dirent* entry = list.Next()) {
    if (++seen_ > kMostEntries) whole_ = false;
    if (!whole_) break;
    found->second.emplace_back(entry->d_name);
  }
  return found->second;
}

const std::optional<std::string>& Links::RealTarget(const std::string& path) {
  const auto [found, fresh] = real_.try_emplace(path);
  if (fresh) found->second = ReadTarget(AT_FDCWD, path.c_str());
  return found->second;
}

void Links::Follow(const std::string& origin, std::string at, std::string rest, size_t depth) {
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string part = rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at = at.substr(0, at.empty() ? 0 : at.find_last_of('/'));
      continue;
    }
    std::string next = at + "/" + part;
    if (!packaged_ && IsPackaged(next)) return;
    std::set<std::string> targets;
    if (const auto found = targets_.find(next); found != targets_.end()) targets = found->second;
    if (const auto& real = RealTarget(next)) targets.insert(*real);
    if (!targets.empty()) {
      if (next != origin && ++seen_hops_ > kMostEntries) whole_ = false;
      if (!whole_) return;
      if (next != origin) hops_[next].insert(origin);
      if (depth >= kMostHops) return;  // the kernel gives up here, too
      if (steps_ += targets.size(); steps_ > kMostSteps) {
        whole_ = false;
        return;
      }
      for (const std::string& target : targets)
        Follow(origin, target.starts_with('/') ? "" : at,
               rest.empty() ? target : target + "/" + rest, depth + 1);
      if (!plain_.contains(next)) return;
    }
    at = std::move(next);
  }
  if (at.empty()) at = "/";
  if (at != origin) leads_[at].insert(origin);
}

Status Links::Find(const StateLayout& layout, const Wish& wish) {
  home_ = wish.home;
  CLOCHE_TRY(TakeTheSandboxs(layout, wish));
  if (!anything_) return {};
  const std::string& project = wish.to.empty() ? wish.project : wish.to;
  in_project_ = true;
  project_ = project;
  if (!project.empty() && project != "/") {
    Search(AT_FDCWD, project.c_str(), project, kDeepest);
    SearchAbove(project);
  }
  in_project_ = false;
  for (const std::string& place : rules::TriggerPlaces({project, wish.home}))
    if (IsSearched(place, wish.home)) Expand("", std::string_view(place).substr(1));
  std::vector<std::string> all;
  for (const auto& each : targets_) all.push_back(each.first);
  for (const std::string& path : all) {
    steps_ = 0;
    Follow(path, "", path, 0);
  }
  return {};
}

Links::Names Links::NamesOf(const std::string& path, bool is_link) {
  Names others;
  if (named_ > kMostNamesOfAll) return {.paths = {}, .all = false};
  struct Way {
    std::string path;
    std::vector<std::string> by;  // each link once: a link to its own directory would never end
  };
  std::vector<Way> names = {{path, {}}};
  std::set<std::string> seen = {path};
  const auto take = [&](std::string name, std::vector<std::string> by, const std::string& link) {
    if (std::ranges::find(by, link) != by.end() || !seen.insert(name).second) return;
    if (names.size() > kMostNames) {
      others.all = false;
      return;
    }
    by.push_back(link);
    names.push_back({std::move(name), std::move(by)});
  };
  if (leads_.empty() && hops_.empty()) return others;
  if (is_link)
    if (const auto found = hops_.find(path); found != hops_.end())
      for (const std::string& link : found->second) take(link, {}, link);
  for (size_t i = 0; i < names.size() && others.all; ++i) {
    for (std::string top = names[i].path; top != "/"; top = Above(top)) {
      const auto found = leads_.find(top);
      if (found == leads_.end()) continue;
      const std::string rest = names[i].path.substr(top.size());
      for (const std::string& link : found->second) {
        take(link + rest, names[i].by, link);
        if (!others.all) break;
      }
    }
  }
  named_ += names.size() - 1;
  for (size_t i = 1; i < names.size(); ++i) others.paths.push_back(std::move(names[i].path));
  return others;
}

}  // namespace cloche::apply
