#include "change/walk/stale.h"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "change/model/noise.h"
#include "change/walk/layer_file.h"
#include "change/walk/merge.h"
#include "sys/directory.h"
#include "sys/file_times.h"

namespace cloche::walk {
namespace {

constexpr uint64_t kMostEntries = 1'000'000;
constexpr size_t kMostMoved = 100'000;
constexpr size_t kMostShown = 100;

// The base directory at `path`, and the mask that hides parts of it.
struct BaseDirectory {
  SharedFd directory, mask;
};

SharedFd Reopen(int fd) {
  if (fd < 0) return nullptr;
  const auto self = std::make_shared<const sys::Fd>(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  const auto here = FindFile(self, ".");
  return here ? OpenDirectory(*here) : nullptr;
}

const LayoutSlot* SlotOf(const StateLayout& layout, const std::string& path) {
  const LayoutSlot* best = nullptr;
  for (const LayoutSlot& slot : layout.slots) {
    const bool within =
        slot.target == "/" || path == slot.target || path.starts_with(slot.target + "/");
    if (within && (!best || slot.target.size() > best->target.size())) best = &slot;
  }
  return best;
}

BaseDirectory FindBase(const StateLayout& layout, const std::string& path) {
  const LayoutSlot* best = SlotOf(layout, path);
  if (!best) return {};
  BaseDirectory base{Reopen(best->base), Reopen(best->mask)};
  size_t at = best->target == "/" ? 1 : std::min(best->target.size() + 1, path.size());
  while (at < path.size() && base.directory) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    const auto place = FindFile(base.directory, name);
    const auto masked = FindFile(base.mask, name);
    base.directory = place && place->IsDirectory() ? OpenDirectory(*place) : nullptr;
    base.mask = masked && masked->IsDirectory() ? OpenDirectory(*masked) : nullptr;
    if (masked && !base.mask) base.directory = nullptr;  // otherwise hidden files would show
    at = end + 1;
  }
  return base;
}

SharedFd FindUpper(const StateLayout& layout, const std::string& path) {
  const LayoutSlot* slot = SlotOf(layout, path);
  if (!slot) return nullptr;
  SharedFd directory = Reopen(slot->state);
  for (size_t at = slot->target == "/" ? 1 : slot->target.size() + 1;
       at < path.size() && directory;) {
    const size_t end = std::min(path.find('/', at), path.size());
    const auto place = FindFile(directory, path.substr(at, end - at));
    directory = place && place->IsDirectory() ? OpenDirectory(*place) : nullptr;
    at = end + 1;
  }
  return directory;
}

// Reality has the sandbox's version, which was promoted. A promotion keeps size, mode and time, so
// the content need not be read.
bool Agree(const LayerFile& real, const LayerFile& own) {
  const struct stat &a = real.info, &b = own.info;
  return !real.IsDirectory() && a.st_mode == b.st_mode && a.st_size == b.st_size &&
         sys::Nanos(a.st_mtim) == sys::Nanos(b.st_mtim);
}

// Whether the sandbox, too, created or deleted what changed in this real directory.
bool DirectoryAgrees(const StateLayout& layout, const std::string& path, int64_t since_ns) {
  const SharedFd own = FindUpper(layout, path);
  const SharedFd real = FindBase(layout, path).directory;
  if (!own || !real) return false;
  const auto self = FindFile(real, ".");
  if (self && BornSince(*self, since_ns)) return true;
  sys::Directory list(own->get(), ".");
  while (const dirent* entry = list.Next()) {
    const auto place = FindFile(own, entry->d_name);
    if (place && place->IsWhiteout() && !FindFile(real, entry->d_name)) return true;
  }
  return false;
}

class Search {
 public:
  Search(std::string project, std::string home, int64_t since)
      : project_(std::move(project)), home_(std::move(home)), since_(since) {}

  void Run(const BaseDirectory& top) {
    Visit(top, project_);
    while (!pending_.empty() && WithinBounds()) {
      const Pending next = std::move(pending_.back());
      pending_.pop_back();
      BaseDirectory base{OpenDirectory(next.place),
                         next.masked ? OpenDirectory(*next.masked) : nullptr};
      if (next.masked && !base.mask) base.directory = nullptr;
      Visit(base, next.path);
    }
  }

  std::set<std::string> moved;
  bool complete = true;

 private:
  // A directory to open later: there may be more than we have descriptors. Only its parent stays
  // open, so the depth of the tree is the limit.
  struct Pending {
    LayerFile place;
    std::optional<LayerFile> masked;
    std::string path;
  };

  bool WithinBounds() const { return seen_ <= kMostEntries && moved.size() <= kMostMoved; }

  void Visit(const BaseDirectory& base, const std::string& path) {
    if (!base.directory) {
      complete = false;
      return;
    }
    bool explained = false;  // a name came; a deleted one shows only in the directory's time
    sys::Directory list(base.directory->get(), ".");
    while (const dirent* entry = list.Next()) {
      ++seen_;
      if (!WithinBounds()) {
        complete = false;
        return;
      }
      const std::string name = entry->d_name;
      const auto masked = FindFile(base.mask, name);
      const std::string full = path + "/" + name;
      if (name == ".git" || (masked && !masked->IsDirectory()) ||
          change::Classify(full, project_, home_) != change::Group::kReal)
        continue;
      const auto place = FindFile(base.directory, name);
      if (!place) continue;
      if (place->IsDirectory()) {
        explained = explained || BornSince(*place, since_);
        pending_.push_back({*place, masked, full});
      } else if (sys::Nanos(place->info.st_ctim) >= since_) {
        moved.insert(full);
        explained = explained || BornSince(*place, since_);
      }
    }
    struct stat info;
    if (!explained && fstat(base.directory->get(), &info) == 0 &&
        sys::Nanos(info.st_mtim) >= since_)
      moved.insert(path);
  }

  std::string project_, home_;
  int64_t since_;
  uint64_t seen_ = 0;
  std::vector<Pending> pending_;
};

// Finds the paths that the sandbox changed, too. Where both agree, the path leaves `moved`: the
// sandbox is not behind there.
Status FindBoth(const StateLayout& layout, int64_t since_ns, std::set<std::string>& moved,
                Staleness& stale) {
  MergedWalk walk(layout, Renames::kBrief);
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Entry> entry, walk.Next());
    if (!entry) break;
    const bool merged = entry->before && entry->after && entry->before->IsDirectory() &&
                        entry->after->IsDirectory();
    if (merged || !moved.contains(entry->path)) continue;
    if (entry->before && entry->after && Agree(*entry->before, *entry->after)) {
      moved.erase(entry->path);
      continue;
    }
    ++stale.both;
    if (stale.both_paths.size() < kMostShown) stale.both_paths.push_back(entry->path);
  }
  std::erase_if(moved,
                [&](const std::string& path) { return DirectoryAgrees(layout, path, since_ns); });
  return {};
}

}  // namespace

Result<Staleness> FindStaleness(const StateLayout& layout, const std::string& project,
                                const std::string& home, int64_t since_ns) {
  Staleness stale;
  if (project.empty() || project == "/") return stale;
  Search search(project, home, since_ns);
  search.Run(FindBase(layout, project));
  stale.complete = search.complete;
  if (!search.moved.empty()) CLOCHE_TRY(FindBoth(layout, since_ns, search.moved, stale));
  stale.changed = search.moved.size();
  for (const std::string& path : search.moved)
    if (stale.paths.size() < kMostShown) stale.paths.push_back(path);
  return stale;
}

Result<std::vector<std::string>> FindChangedByBoth(const StateLayout& layout, int64_t since_ns) {
  std::vector<std::string> paths;
  MergedWalk walk(layout, Renames::kExpand);
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Entry> entry, walk.Next());
    if (!entry) return paths;
    const bool merged = entry->before && entry->after && entry->before->IsDirectory() &&
                        entry->after->IsDirectory();
    if (!merged && entry->before && sys::Nanos(entry->before->info.st_ctim) >= since_ns)
      paths.push_back(entry->path);
  }
}

}  // namespace cloche::walk
