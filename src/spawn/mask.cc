#include "spawn/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>

#include "spawn/base_names.h"

#include "sys/directory.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

// A larger project is not searched further: files deepest down stay visible (SECURITY.md says so).
// 100,000 entries take about 100 ms, once.
constexpr size_t kMaxGlobEntries = 100000;
constexpr int kMaxLinks = 40;  // in a row, as in the kernel

bool SkippedDirectory(const char* name) {
  for (const char* skip : {".git", "node_modules", "target", ".venv", "venv", "__pycache__",
                           ".cache", "vendor", ".tox"})
    if (strcmp(name, skip) == 0) return true;
  return false;
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) end = text.size();
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool Matches(const std::vector<std::string>& patterns, const char* name) {
  bool matched = false;
  for (const std::string& pattern : patterns) {
    bool negative = pattern[0] == '!';
    if (fnmatch(pattern.c_str() + (negative ? 1 : 0), name, FNM_PERIOD) == 0) matched = !negative;
  }
  return matched;
}

bool Excepted(const std::vector<std::string>& patterns, const char* name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return pattern[0] == '!' && fnmatch(pattern.c_str() + 1, name, FNM_PERIOD) == 0;
  });
}

// shadow(5) and gshadow(5): the second field of each line is the password.
std::string BlankHashes(const std::string& text) {
  std::string blanked;
  for (const std::string& line : Lines(text)) {
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    blanked += line.substr(0, first) + ":*" + line.substr(second) + "\n";
  }
  return blanked;
}

// No directory there, or one that only others may enter: nothing to hide. Any other error would
// leave visible what should be hidden.
bool NothingThere(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
}

std::pair<std::string, std::string> SplitLast(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

std::pair<int, std::string> OverlayOf(const SandboxSpec& spec, const std::string& path) {
  int best = -1;
  size_t best_size = 0;
  for (size_t i = 0; i < spec.mounts.size(); ++i) {
    const std::string& target = spec.mounts[i].target;
    bool below = target == "/" || (path.starts_with(target) &&
                                   (path.size() == target.size() || path[target.size()] == '/'));
    if (!below || target.size() < best_size) continue;
    best = spec.mounts[i].kind == MountKind::kOverlay ? static_cast<int>(i) : -1;
    best_size = target.size();
  }
  if (best < 0) return {-1, ""};
  std::string rest =
      path.substr(spec.mounts[static_cast<size_t>(best)].target == "/" ? 0 : best_size);
  while (!rest.empty() && rest.front() == '/') rest.erase(0, 1);
  return {best, rest};
}

class MaskBuilder {
 public:
  MaskBuilder(Mask& mask, const SandboxSpec& spec, const std::vector<int>& lowers)
      : mask_(mask), spec_(spec), names_(spec.base_is_host || lowers.empty() ? -1 : lowers[0]) {
    size_t next = 0;
    for (const MountOp& op : spec.mounts)
      lowers_.push_back(op.kind == MountKind::kOverlay ? lowers[next++] : -1);
  }

  // Also applies where links lead: if /home is a link to /var/home, hidden files are hidden in
  // both; if ~/.ssh is a link, its target is hidden under its own name, too.
  OrFailure<void> Apply(const FileRule& rule) {
    if (auto applied = ApplyAt(rule, rule.path); !applied) return applied;
    auto real = names_.Behind(rule.path);
    if (!real) return std::unexpected(real.error());
    if (real->empty()) return {};
    if (*real != rule.path)
      if (auto applied = ApplyAt(rule, *real); !applied) return applied;
    const bool hides = rule.kind == FileRuleKind::kHide || rule.kind == FileRuleKind::kHideGlob;
    return hides ? ApplyToTargets(rule, *real) : OrFailure<void>();
  }

  // If the base lacks a mount point, the mask provides it: in the upper it would look like a change
  // made by the sandbox.
  OrFailure<void> MountPoint(const MountOp& op, bool directory) {
    auto [directory_above, name] = SplitLast(op.target);
    auto [mount, parent] = OverlayOf(spec_, directory_above.empty() ? "/" : directory_above);
    if (mount < 0 || name.empty()) return {};
    rule_path_ = op.target;
    sys::Fd lower(sys::OpenBeneath(lowers_[static_cast<size_t>(mount)],
                                   parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY,
                                   true));
    struct stat info;
    if (!lower.valid() || fstatat(lower.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
      return {};
    auto places = Descend(mount, parent);
    if (!places) return std::unexpected(places.error());
    const int here = places->here;
    if (here < 0) return {};
    // The lower has nothing there, so a whiteout only guards against what the host may create.
    struct stat waiting;
    if (fstatat(here, name.c_str(), &waiting, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(waiting.st_mode))
      unlinkat(here, name.c_str(), 0);
    int made = directory
                   ? mkdirat(here, name.c_str(), 0755)
                   : openat(here, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (made < 0 && errno != EEXIST)
      return Failed(SpawnStep::kFiles, "make mount point", errno, op.target);
    if (made >= 0 && !directory) close(made);
    return {};
  }

 private:
  OrFailure<void> ApplyAt(const FileRule& rule, const std::string& path) {
    auto [mount, rest] = OverlayOf(spec_, path);
    if (mount < 0) return {};
    if (rule.kind == FileRuleKind::kHideGlob) return Search(mount, rule, rest);
    if (rest.empty()) return {};
    if (rule.kind == FileRuleKind::kDecoy || rule.kind == FileRuleKind::kDecoyInstead)
      return LayDecoy(mount, rest, rule);
    return Place(mount, rest, rule);
  }

  // Follows one link after the other, starting at `path`.
  OrFailure<void> ApplyToTargets(const FileRule& rule, std::string path) {
    const std::string origin = path;
    for (int i = 0; i < kMaxLinks; ++i) {
      if (auto [mount, rest] = OverlayOf(spec_, path); mount >= 0 && !rest.empty())
        mask_.watch_.AddName(HostPath(mount, rest));
      auto target = names_.Target(path);
      if (!target) return std::unexpected(target.error());
      if (target->empty()) return {};
      auto needed = IsNeeded(*target, origin);
      if (!needed) return std::unexpected(needed.error());
      if (*needed) return {};
      path = std::move(*target);
      if (auto applied = ApplyAt(rule, path); !applied) return applied;
    }
    return {};
  }

  // The owner of a link chooses its target, and must not hide the system with it. Directories that
  // a sandbox works in stay visible, as they do when hidden by their own name.
  OrFailure<bool> IsNeeded(const std::string& path, const std::string& origin) {
    const auto holds = [&](const std::string& other) {
      return (other + "/").starts_with(path + "/");
    };
    if (path.find('/', 1) == std::string::npos || holds(origin)) return true;
    for (const char* system : {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/"})
      if (path.starts_with(system)) return true;
    if (auto known = FindProject(); !known) return std::unexpected(known.error());
    return std::ranges::any_of(spec_.mounts, holds, &MountOp::target) ||
           std::ranges::any_of(project_, holds);
  }

  // Under all names that lead to it.
  OrFailure<void> FindProject() {
    if (!project_.empty()) return {};
    project_.emplace_back("/");
    for (const FileRule& rule : spec_.files) {
      if (rule.kind != FileRuleKind::kHideGlob) continue;
      project_.push_back(rule.path);
      auto next = names_.Behind(rule.path);
      for (int i = 0; next && !next->empty() && i < kMaxLinks; ++i) {
        project_.push_back(*next);
        next = names_.Target(project_.back());
      }
      if (!next) return std::unexpected(next.error());
    }
    return {};
  }

  struct Places {
    int here = -1;   // in the mask layer; -1: nothing to hide there
    int below = -1;  // in the lower
  };

  // Mirrors the directories that lead to `parent` into the mask layer, and stays there, because
  // most rules concern neighbours of the last one. The result is valid until the next call. If the
  // lower has no such directory, there is nothing to hide.
  OrFailure<Places> Descend(int mount, const std::string& parent) {
    if (mount != mount_) {
      passed_.clear();
      mount_ = -1;
      if (auto entered = Enter(mount); !entered) return std::unexpected(entered.error());
      mount_ = mount;
    }
    std::vector<std::string> parts;
    for (std::string_view rest = parent; !rest.empty();) {
      const size_t end = std::min(rest.find('/'), rest.size());
      if (end > 0) parts.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    size_t same = 0;
    while (same < parts.size() && same + 1 < passed_.size() &&
           passed_[same + 1].name == parts[same])
      ++same;
    passed_.resize(same + 1);
    for (size_t i = same; i < parts.size(); ++i) {
      auto found = Step(mount, parts[i]);
      if (!found) return std::unexpected(found.error());
      if (!*found) return Places();
    }
    return Places{passed_.back().here.get(), passed_.back().below.get()};
  }

  // Enters the top of an overlay.
  OrFailure<void> Enter(int mount) {
    size_t index = 0;
    for (int i = 0; i < mount; ++i)
      if (spec_.mounts[static_cast<size_t>(i)].kind == MountKind::kOverlay) ++index;
    const std::string layer = std::to_string(index);
    Passed top;
    top.below = sys::Fd(
        openat(lowers_[static_cast<size_t>(mount)], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!top.below.valid()) return Failed(SpawnStep::kFiles, "open lower", errno, rule_path_);
    if (!mask_.used_[index]) {
      if (auto made = Mirror(mask_.root_.get(), layer, top.below.get(), HostPath(mount, "")); !made)
        return made;
      mask_.used_[index] = true;
    }
    top.here =
        sys::Fd(openat(mask_.root_.get(), layer.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!top.here.valid()) return Failed(SpawnStep::kFiles, "open mask", errno, rule_path_);
    passed_.push_back(std::move(top));
    return {};
  }

  // Goes down one directory. False: there is none.
  OrFailure<bool> Step(int mount, const std::string& part) {
    const Passed& above = passed_.back();
    const std::string path = above.path.empty() ? part : above.path + "/" + part;
    Passed next{part, path, {}, {}};
    next.below = sys::Fd(
        openat(above.below.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.below.valid()) {
      const int error = errno;
      // The host may create it at any moment, with something to hide in it.
      if (error == ENOENT)
        if (auto hidden = HideAbsent(above.here.get(), part, HostPath(mount, path)); !hidden)
          return std::unexpected(hidden.error());
      // A link or a file may become a directory, with something to hide in it.
      if (NothingThere(error)) mask_.watch_.AddAccess(HostPath(mount, path));
      if (NothingThere(error)) return false;
      return Failed(SpawnStep::kFiles, "open lower", error, rule_path_);
    }
    if (auto made = Mirror(above.here.get(), part, next.below.get(), HostPath(mount, path)); !made)
      return std::unexpected(made.error());
    next.here = sys::Fd(
        openat(above.here.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.here.valid()) {
      if (errno == ENOTDIR) return false;  // hidden itself, or a file
      return Failed(SpawnStep::kFiles, "open mask", errno, rule_path_);
    }
    passed_.push_back(std::move(next));
    return true;
  }

  // If it appears, running sandboxes do not see it, and new ones get a new mask.
  OrFailure<void> HideAbsent(int dir, const std::string& name, const std::string& host_path) {
    if (mknodat(dir, name.c_str(), S_IFCHR, makedev(0, 0)) == 0)
      mask_.watch_.AddAbsent(host_path);
    else if (errno != EEXIST)
      return Failed(SpawnStep::kFiles, "make whiteout", errno, host_path);
    return {};
  }

  // A directory in the mask layer shows its own owner and mode inside, so it copies the lower's.
  // Nothing else checks whether an ordinary caller of root's daemon may enter, so if these change
  // on the host, or a link takes its place, a new mask is needed.
  OrFailure<void> Mirror(int dir, const std::string& name, int like, const std::string& host_path) {
    if (mkdirat(dir, name.c_str(), 0700) < 0) {
      if (errno == EEXIST) return {};
      return Failed(SpawnStep::kFiles, "make mask directory", errno, rule_path_);
    }
    mask_.watch_.AddAccess(host_path);
    struct stat info;
    if (fstat(like, &info) < 0) return Failed(SpawnStep::kFiles, "stat lower", errno, rule_path_);
    sys::Fd made(openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    bool owned = fchown(made.get(), info.st_uid, info.st_gid) == 0 || spec_.mode == Mode::kRootless;
    if (!owned || fchmod(made.get(), info.st_mode & 07777) < 0)
      return Failed(SpawnStep::kFiles, "copy directory attributes", errno, rule_path_);
    timespec times[2] = {info.st_atim, info.st_mtim};
    futimens(made.get(), times);
    return {};
  }

  OrFailure<void> Place(int mount, const std::string& rest, const FileRule& rule) {
    rule_path_ = rule.path;
    auto [parent, name] = SplitLast(rest);
    auto places = Descend(mount, parent);
    if (!places) return std::unexpected(places.error());
    const auto [here, below] = *places;
    if (here < 0) return {};
    // Also if nothing exists yet: it stays hidden when the host creates it later.
    if (rule.kind == FileRuleKind::kHide) {
      if (mknodat(here, name.c_str(), S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST)
        return Failed(SpawnStep::kFiles, "make whiteout", errno, rule.path);
      return {};
    }
    mask_.watch_.AddPath(HostPath(mount, rest));
    return WithoutHashes(here, below, name, rule.path);
  }

  // A copy of the lower's file with the same owner and mode. The file is opened once, as root, so
  // what is read is what was examined.
  OrFailure<void> WithoutHashes(int here, int below, const std::string& name,
                                const std::string& path) {
    sys::Fd lower(openat(below, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!lower.valid() && errno == ENOENT) return {};
    if (!lower.valid()) return Failed(SpawnStep::kFiles, "open", errno, path);
    struct stat like;
    if (fstat(lower.get(), &like) < 0) return Failed(SpawnStep::kFiles, "stat", errno, path);
    if (!S_ISREG(like.st_mode)) return Failed(SpawnStep::kFiles, "read", EINVAL, path);
    std::string text;
    if (int error = sys::ReadAll(lower.get(), text, 16 << 20); error < 0)
      return Failed(SpawnStep::kFiles, "read", error, path);
    const std::string content = BlankHashes(text);

    sys::Fd file(
        openat(here, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return Failed(SpawnStep::kFiles, "write", errno, path);
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written != static_cast<ssize_t>(content.size()))
      return Failed(SpawnStep::kFiles, "write", written < 0 ? errno : ENOSPC, path);
    if (fchown(file.get(), like.st_uid, like.st_gid) < 0 ||
        fchmod(file.get(), like.st_mode & 07777) < 0)
      return Failed(SpawnStep::kFiles, "set owner", errno, path);
    return {};
  }

  bool IsWhiteout(int dir, const char* name) const {
    struct stat info;
    return fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(info.st_mode);
  }
  static bool IsThere(int dir, const char* name) {
    struct stat info;
    return dir >= 0 && (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT);
  }

  // Comes after hiding: only in place of a whiteout, or where the base has nothing. Visible files
  // stay as they are.
  OrFailure<void> LayDecoy(int mount, const std::string& rest, const FileRule& rule) {
    rule_path_ = rule.path;
    auto [parent, name] = SplitLast(rest);
    auto top = Descend(mount, "");
    if (!top) return std::unexpected(top.error());
    sys::Fd here(fcntl(top->here, F_DUPFD_CLOEXEC, 0)),
        below(fcntl(top->below, F_DUPFD_CLOEXEC, 0));
    std::string path;
    for (size_t at = 0; at < parent.size();) {
      const size_t end = std::min(parent.find('/', at), parent.size());
      const std::string part = parent.substr(at, end - at);
      at = end + 1;
      path += "/" + part;
      auto entered = EnterForDecoy(mount, path, part, here, below);
      if (!entered) return std::unexpected(entered.error());
      if (!*entered) return {};
    }
    const bool hidden = IsWhiteout(here.get(), name.c_str());
    if (!hidden && (IsThere(here.get(), name.c_str()) || IsThere(below.get(), name.c_str())))
      return {};
    struct stat replaced;
    const bool file = below.valid() &&
                      fstatat(below.get(), name.c_str(), &replaced, AT_SYMLINK_NOFOLLOW) == 0 &&
                      S_ISREG(replaced.st_mode);
    if (rule.kind == FileRuleKind::kDecoyInstead && !(hidden && file)) return {};
    if (hidden && unlinkat(here.get(), name.c_str(), 0) < 0)
      return Failed(SpawnStep::kFiles, "replace whiteout", errno, rule.path);
    sys::Fd made(openat(here.get(), name.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made.valid()) return Failed(SpawnStep::kFiles, "lay decoy", errno, rule.path);
    const ssize_t written = write(made.get(), rule.content.data(), rule.content.size());
    if (written != static_cast<ssize_t>(rule.content.size()))
      return Failed(SpawnStep::kFiles, "write decoy", written < 0 ? errno : ENOSPC, rule.path);
    return GiveToCaller(made.get(), 0600, here.get());
  }

  // Goes down one directory on the way to a decoy: the base's own, or one of ours in place of a
  // whiteout, which shows nothing below it. False: something else is there.
  OrFailure<bool> EnterForDecoy(int mount, const std::string& path, const std::string& part,
                                sys::Fd& here, sys::Fd& below) {
    const bool hidden = IsWhiteout(here.get(), part.c_str());
    sys::Fd lower;
    if (below.valid() && !hidden)
      lower = sys::Fd(
          openat(below.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const bool own = own_.contains(std::to_string(mount) + path);
    if (lower.valid() && !own) {
      const std::string host = HostPath(mount, path.substr(1));
      if (auto made = Mirror(here.get(), part, lower.get(), host); !made)
        return std::unexpected(made.error());
    } else if (!own) {
      if (!hidden && (IsThere(here.get(), part.c_str()) || IsThere(below.get(), part.c_str())))
        return false;
      if (hidden && unlinkat(here.get(), part.c_str(), 0) < 0)
        return Failed(SpawnStep::kFiles, "replace whiteout", errno, rule_path_);
      if (mkdirat(here.get(), part.c_str(), 0700) < 0)
        return Failed(SpawnStep::kFiles, "make directory of decoys", errno, rule_path_);
    }
    sys::Fd next(openat(here.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return Failed(SpawnStep::kFiles, "open mask", errno, rule_path_);
    if (!lower.valid() && !own) {
      if (int error = sys::MakeOpaque(next.get(), spec_.mode == Mode::kRootless); error < 0)
        return Failed(SpawnStep::kFiles, "set overlay.opaque", error, rule_path_);
      if (auto given = GiveToCaller(next.get(), 0700, here.get()); !given)
        return std::unexpected(given.error());
      own_.insert(std::to_string(mount) + path);
    }
    if (own || !lower.valid()) lower.Reset();
    here = std::move(next);
    below = std::move(lower);
    return true;
  }

  // As old as its directory: a brand-new file would look suspicious.
  OrFailure<void> GiveToCaller(int file, mode_t mode, int directory) {
    const bool owned =
        fchown(file, spec_.caller.uid, spec_.caller.gid) == 0 || spec_.mode == Mode::kRootless;
    if (!owned || fchmod(file, mode) < 0)
      return Failed(SpawnStep::kFiles, "give decoy to its owner", errno, rule_path_);
    struct stat info;
    if (fstat(directory, &info) == 0) {
      const timespec times[2] = {info.st_mtim, info.st_mtim};
      futimens(file, times);
    }
    return {};
  }

  std::string HostPath(int mount, const std::string& rest) const {
    const std::string& source = spec_.mounts[static_cast<size_t>(mount)].source;
    return (source == "/" ? "" : source) + "/" + rest;
  }

  // Hides the target of a link in the project that matches a pattern.
  OrFailure<void> HideTargetOf(int mount, const std::string& rest, const FileRule& hide,
                               const std::vector<std::string>& patterns) {
    const std::string& top = spec_.mounts[static_cast<size_t>(mount)].target;
    const std::string path = (top == "/" ? "" : top) + "/" + rest;
    auto target = names_.Target(path);
    if (!target) return std::unexpected(target.error());
    // Files named by an exception are public.
    if (target->empty() || Excepted(patterns, SplitLast(*target).second.c_str())) return {};
    return ApplyToTargets(hide, path);
  }

  // `top` is empty for a whole mount.
  OrFailure<void> Search(int mount, const FileRule& rule, const std::string& top) {
    const std::vector<std::string> patterns = Lines(rule.content);
    std::deque<std::string> pending = {top};
    size_t entries = 0;
    mask_.watch_.AddPath(HostPath(mount, top));
    while (!pending.empty() && entries < kMaxGlobEntries) {
      std::string where = std::move(pending.front());
      pending.pop_front();
      int fd = sys::OpenBeneath(lowers_[static_cast<size_t>(mount)],
                                where.empty() ? "." : where.c_str(), O_RDONLY | O_DIRECTORY, false);
      if (fd < 0 && NothingThere(-fd)) continue;
      if (fd < 0) return Failed(SpawnStep::kFiles, "search", fd, where);
      mask_.watch_.AddDirectory(fd, HostPath(mount, where));
      sys::Directory list{sys::Fd(fd)};
      std::vector<std::string> found;
      while (const dirent* entry = list.Next()) {
        ++entries;
        const char* name = entry->d_name;
        const std::string path = where.empty() ? name : where + "/" + name;
        if (Matches(patterns, name))
          found.push_back(path);
        else if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
                 !SkippedDirectory(name))
          pending.push_back(path);
      }
      if (list.error() != 0) return Failed(SpawnStep::kFiles, "search", list.error(), where);
      for (const std::string& path : found) {
        FileRule hide;
        hide.path = rule.path + "/...";
        if (auto placed = Place(mount, path, hide); !placed) return placed;
        if (auto placed = HideTargetOf(mount, path, hide, patterns); !placed) return placed;
      }
    }
    return {};
  }

  Mask& mask_;
  const SandboxSpec& spec_;
  std::vector<int> lowers_;  // by mount, -1 if it is not an overlay
  BaseNames names_;
  std::vector<std::string> project_;  // once it was searched for
  std::string rule_path_;
  struct Passed {
    std::string name, path;  // "" = the overlay's top
    sys::Fd here, below;
  };
  std::set<std::string> own_;  // directories of decoys, by mount and path
  int mount_ = -1;             // the current one
  std::vector<Passed> passed_;
};

OrFailure<Mask> Mask::Build(int dir, const std::string& name, const SandboxSpec& spec,
                            const std::vector<int>& lowers) {
  Mask mask;
  mask.name_ = name;
  mask.used_.assign(lowers.size(), false);
  if (mkdirat(dir, name.c_str(), 0755) < 0)
    return Failed(SpawnStep::kFiles, "make mask", errno, name);
  mask.root_ = sys::Fd(openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!mask.root_.valid()) return Failed(SpawnStep::kFiles, "open mask", errno, name);
  MaskBuilder builder(mask, spec, lowers);
  for (const FileRule& rule : spec.files)
    if (auto applied = builder.Apply(rule); !applied) return std::unexpected(applied.error());
  for (const MountOp& op : spec.mounts) {
    bool covers = op.kind == MountKind::kTmpfs && op.optional;
    if (covers) continue;
    bool directory = op.kind != MountKind::kBind || !sys::IsRegularFile(op.source.c_str());
    if (auto made = builder.MountPoint(op, directory); !made) return std::unexpected(made.error());
  }
  return mask;
}

}  // namespace cloche::spawn
