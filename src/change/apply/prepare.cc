#include "change/apply/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <tuple>

#include "base/shown_path.h"
#include "change/apply/filesystem_id.h"
#include "change/apply/held_file.h"
#include "change/apply/side_store.h"
#include "sys/copy_tree.h"
#include "sys/file.h"
#include "sys/file_times.h"

namespace cloche::apply {
namespace {

std::unexpected<Error> Failed(const char* verb, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return Fail(full ? Code::kExhausted : Code::kUnavailable,
              fmt::format("{} {}: {}", verb, ShownPath(path), strerror(error)),
              full ? "make room; nothing was applied" : "nothing was applied");
}

std::unexpected<Error> JustChanged(const std::string& path) {
  return Fail(Code::kConflict, fmt::format("{}: the sandbox has just changed it", ShownPath(path)),
              "look again, then try again; nothing was applied");
}

// One wanted path while it is being prepared.
struct Work {
  change::Change change;
  std::optional<walk::LayerFile> source;
  const std::optional<std::string>& text;
};

Result<Work> Begin(const std::string& line, const Wanted& wanted) {
  ASSIGN_OR_RETURN(change::Change change, change::DecodeJsonLine(line));
  std::optional<walk::LayerFile> source;
  if (change.new_side) {
    source = walk::FindFile(wanted.source, change.path.substr(change.path.find_last_of('/') + 1));
    if (!source)
      return Fail(Code::kConflict,
                  fmt::format("{}: the sandbox has just removed it", ShownPath(change.path)),
                  "look again, then try again; nothing was applied");
    // Names that were shown as one file are prepared as one file.
    if (change.new_side->hard_link.value_or(source->info.st_ino) != source->info.st_ino)
      return JustChanged(change.path);
  }
  return Work{std::move(change), std::move(source), wanted.text};
}

bool WasDirectory(const change::Change& change) {
  return change.old_side && change.old_side->type == change::FileType::kDirectory;
}

bool IsDirectory(const change::Change& change) {
  return change.new_side && change.new_side->type == change::FileType::kDirectory;
}

class Preparer {
 public:
  explicit Preparer(const Wish& wish) : wish_(wish) {}

  // Creates what should be there, as FILES/NUMBER.
  Result<Identity> Put(const Work& work, int files, uint64_t number) {
    files_ = files;
    const std::string name = std::to_string(number);
    const change::Side& side = *work.change.new_side;
    const std::string& path = work.change.path;
    const std::tuple file(files, work.source->info.st_dev, work.source->info.st_ino);
    if (side.hard_link) {
      const auto first = links_.find(file);
      if (first != links_.end()) {
        if (linkat(files_, std::to_string(first->second).c_str(), files_, name.c_str(), 0) < 0)
          return Failed("link", path, errno);
        return IdentityAt(files_, name);
      }
      links_[file] = number;
    }
    if (side.type == change::FileType::kSymlink) return PutSymlink(work, side, name);
    sys::Fd made;
    if (side.type == change::FileType::kDirectory) {
      if (mkdirat(files_, name.c_str(), 0700) < 0) return Failed("make", path, errno);
      made = sys::Fd(openat(files_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!made.valid()) return Failed("make", path, errno);
    } else {
      ASSIGN_OR_RETURN(made, Copy(work, side, name));
    }
    CLOCHE_TRY(Describe(work, side, made.get()));
    struct stat info;
    if (fstat(made.get(), &info) < 0) return Failed("make", path, errno);
    return IdentityOf(info);
  }

 private:
  Result<sys::Fd> Copy(const Work& work, const change::Side& side, const std::string& name) {
    const std::string& path = work.change.path;
    sys::Fd to(
        openat(files_, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to.valid()) return Failed("make", path, errno);
    if (work.text) {
      if (!sys::WriteWhole(to.get(), *work.text)) return Failed("write", path, errno);
      return to;
    }
    const sys::Fd from = walk::OpenFile(*work.source);
    if (!from.valid()) return Failed("read", path, EACCES);
    if (int error = sys::CopyFile(from.get(), to.get(), static_cast<off_t>(side.size)); error < 0)
      return Failed("copy", path, -error);
    // Make sure it is what was shown, in case somebody has written to it since.
    if (ContentHash(to.get()) != side.sha256) return JustChanged(path);
    return to;
  }

  Result<Identity> PutSymlink(const Work& work, const change::Side& side, const std::string& name) {
    const std::string& path = work.change.path;
    if (symlinkat(side.target.c_str(), files_, name.c_str()) < 0)
      return Failed("make", path, errno);
    if (wish_.root && fchownat(files_, name.c_str(), side.uid, side.gid, AT_SYMLINK_NOFOLLOW) < 0)
      return Failed("give away", path, errno);
    const timespec times[2] = {work.source->info.st_atim, work.source->info.st_mtim};
    if (utimensat(files_, name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0)
      return Failed("set the time of", path, errno);
    return IdentityAt(files_, name);
  }

  // Owner first, because chown clears mode bits. Times last, because everything else changes them.
  Status Describe(const Work& work, const change::Side& side, int made) {
    const std::string& path = work.change.path;
    if (wish_.root && fchown(made, side.uid, side.gid) < 0) return Failed("give away", path, errno);
    // Users may give a file to any of their groups. If it fails, the plan has already noted it.
    if (!wish_.root && !wish_.one_owner && side.gid != wish_.gid)
      (void)!fchown(made, static_cast<uid_t>(-1), side.gid);
    for (const auto& [key, value] : side.xattrs)
      if (fsetxattr(made, key.c_str(), value.data(), value.size(), 0) < 0)
        return Failed("set an attribute of", path, errno);
    // A directory gets its mode later, once its entries are in it.
    if (side.type == change::FileType::kDirectory) return {};
    if (fchmod(made, side.mode) < 0) return Failed("set the mode of", path, errno);
    if (work.text) return {};  // new content, new time
    const timespec times[2] = {work.source->info.st_atim, work.source->info.st_mtim};
    return futimens(made, times) < 0 ? Failed("set the time of", path, errno) : Status();
  }

  const Wish& wish_;
  int files_ = -1;
  // The step that prepared the first name of each file, per filesystem.
  std::map<std::tuple<int, uint64_t, uint64_t>, uint64_t> links_;
};

// The existing directories in which names come and go. A directory with its own kSetDir step gets
// its time back from that.
std::vector<Parent> ParentsOf(const std::deque<Step>& steps, const Realities& realities) {
  std::map<std::string, std::string> parents;
  for (const Step& step : steps)
    if (step.kind != StepKind::kSetDir)
      parents.emplace(step.path.substr(0, std::max<size_t>(step.path.find_last_of('/'), 1)),
                      step.target);
  for (const Step& step : steps)
    if (step.kind == StepKind::kSetDir && !step.prepared.exists()) parents.erase(step.path);
  std::vector<Parent> found;
  for (const auto& [path, target] : parents) {
    const auto directory = realities.at(target).Directory(path);
    struct stat info;
    if (directory && fstat((*directory)->get(), &info) == 0)
      found.push_back({target, path, IdentityOf(info), sys::Nanos(info.st_mtim)});
  }
  return found;
}

DirectoryStatus StatusAt(const Name& at) {
  struct stat info {};
  (void)fstatat(at.directory->get(), at.name.c_str(), &info, AT_SYMLINK_NOFOLLOW);
  return {info.st_mode & 07777, info.st_uid, info.st_gid, sys::Nanos(info.st_mtim), {}};
}

// For a directory that stays: the attributes that differ, old and new.
void CompareAttributes(const change::Change& change, StepDetails& details) {
  const auto &old = change.old_side->xattrs, &now = change.new_side->xattrs;
  for (const auto& [name, value] : old)
    if (const auto same = now.find(name);
        IsTakenOver(name) && (same == now.end() || same->second != value))
      details.old_status.attributes[name] = value;
  for (const auto& [name, value] : now)
    if (const auto same = old.find(name);
        IsTakenOver(name) && (same == old.end() || same->second != value))
      details.new_status.attributes[name] = value;
}

// Turns wanted paths into steps, one after the other.
class StepMaker {
 public:
  StepMaker(const Wish& wish, const PrepareInto& into, std::vector<Conflict>& conflicts)
      : into_(into),
        conflicts_(conflicts),
        preparer_(wish),
        side_stores_(wish.to.empty() ? wish.project : wish.to, into.journal, into.entry,
                     into.promotion) {}

  Status Take(const std::string& line, const Wanted& wanted) {
    CLOCHE_TRY(OpenReality(into_.realities, wanted.target));
    const Reality& reality = into_.realities.at(wanted.target);
    ASSIGN_OR_RETURN(const Work work, Begin(line, wanted));
    const auto at = reality.Find(work.change.path);
    const Identity now = at ? IdentityAt(at->directory->get(), at->name) : Identity();
    if (!IsAsCompared(work.change, wanted, at, now)) return {};
    ASSIGN_OR_RETURN(Step step, StepFor(work.change, wanted, reality, at, now));
    if (!SameKind(work.change) && work.change.old_side) {
      Delete(work.change, step);
      step.before = {};
    }
    if (!work.change.new_side) return {};
    return step.kind == StepKind::kSetDir ? SetStatus(work, *at, std::move(step))
                                          : Put(work, std::move(step));
  }

  // Deletions go first, deepest paths first; directory modes come last, because a mode may close
  // the directory.
  std::deque<Step> Finish() {
    std::ranges::move(deletions_, std::front_inserter(steps_));
    std::ranges::move(statuses_ | std::views::reverse, std::back_inserter(steps_));
    return std::move(steps_);
  }

 private:
  static bool SameKind(const change::Change& change) {
    return change.old_side && change.new_side && WasDirectory(change) == IsDirectory(change);
  }

  // Reality is still what was compared, and no process has it open for writing.
  bool IsAsCompared(const change::Change& change, const Wanted& wanted, const Result<Name>& at,
                    const Identity& now) {
    const std::string& path = change.path;
    // Below a directory that this promotion creates, nothing can have existed before.
    if (!at && wanted.before.exists()) {
      conflicts_.push_back({path, at.error().message, "look at it, then try again"});
      return false;
    }
    // A directory's ctime only says that entries came or went.
    const bool still =
        WasDirectory(change) ? now.inode == wanted.before.inode : now == wanted.before;
    if (!still) {
      conflicts_.push_back({path, "reality has just changed it", "look again, then try again"});
      return false;
    }
    if (at && now.exists() && !WasDirectory(change) && HasWriter(at->directory->get(), at->name)) {
      conflicts_.push_back(
          {path, "a process has it open for writing in reality", OpenForWritingCure(path)});
      return false;
    }
    return true;
  }

  Result<Step> StepFor(const change::Change& change, const Wanted& wanted, const Reality& reality,
                       const Result<Name>& at, const Identity& now) {
    Step step;
    step.target = wanted.target;
    step.path = change.path;
    step.few = wanted.few;
    step.before_changed_ns = wanted.before_changed_ns;
    step.before = now;
    const bool status_only = SameKind(change) && IsDirectory(change);
    const auto above = made_.find(change.path.substr(0, change.path.find_last_of('/')));
    if (above != made_.end()) {
      step.side_store = above->second;
    } else if (at && !status_only) {
      ASSIGN_OR_RETURN(step.side_store,
                       side_stores_.For(reality, change.path, at->directory->get()));
    }
    if (step.side_store != 0 && now.exists())
      step.before_born_ns = MarkAt(at->directory->get(), at->name).born_ns;
    if (status_only) {
      step.kind = StepKind::kSetDir;
      step.directory = true;
    } else if (SameKind(change)) {
      step.kind = StepKind::kReplace;
    }
    return step;
  }

  void Delete(const change::Change& change, Step gone) {
    gone.kind = StepKind::kDelete;
    gone.directory = WasDirectory(change);
    gone.number = ++number_;
    deletions_.push_back(std::move(gone));
  }

  static StepDetails DetailsOf(const Work& work, const Step& step) {
    const change::Side& side = *work.change.new_side;
    StepDetails details = step.details();
    details.new_status = {side.mode, side.uid, side.gid, sys::Nanos(work.source->info.st_mtim), {}};
    return details;
  }

  Status SetStatus(const Work& work, const Name& at, Step step) {
    step.number = ++number_;
    StepDetails details = DetailsOf(work, step);
    details.old_status = StatusAt(at);
    CompareAttributes(work.change, details);
    step.few = std::make_shared<const StepDetails>(std::move(details));
    statuses_.push_back(std::move(step));
    return {};
  }

  Status Put(const Work& work, Step step) {
    step.number = ++number_;
    const int files = into_.entry.Of(step);
    ASSIGN_OR_RETURN(step.prepared, preparer_.Put(work, files, step.number));
    if (struct stat info;
        fstatat(files, std::to_string(step.number).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      step.prepared_modified_ns = sys::Nanos(info.st_mtim);
      step.prepared_size = static_cast<uint64_t>(info.st_size);
    }
    step.directory = IsDirectory(work.change);
    if (step.directory) CloseLater(work, step);
    steps_.push_back(std::move(step));
    return {};
  }

  // A directory gets its own status once everything is in it.
  void CloseLater(const Work& work, const Step& step) {
    made_[step.path] = step.side_store;
    Step status = step;
    status.kind = StepKind::kSetDir;
    status.number = ++number_;
    StepDetails details = DetailsOf(work, step);
    details.old_status = details.new_status;  // unused: an undo removes the directory
    status.few = std::make_shared<const StepDetails>(std::move(details));
    statuses_.push_back(std::move(status));
  }

  const PrepareInto& into_;
  std::vector<Conflict>& conflicts_;
  Preparer preparer_;
  SideStores side_stores_;
  std::map<std::string, uint32_t> made_;  // directories, and where they are prepared
  uint64_t number_ = 0;
  std::deque<Step> steps_;
  std::vector<Step> deletions_, statuses_;
};

}  // namespace

Status OpenReality(Realities& realities, const std::string& target) {
  if (realities.contains(target)) return {};
  ASSIGN_OR_RETURN(Reality reality, Reality::Open(target));
  realities.emplace(target, std::move(reality));
  return {};
}

Status PrepareFiles(const std::vector<std::string>& changes, std::deque<Wanted> all,
                    const Wish& wish, const PrepareInto& into, std::vector<Conflict>& conflicts) {
  StepMaker steps(wish, into, conflicts);
  for (const std::string& line : changes) {
    const Wanted wanted = std::move(all.front());
    all.pop_front();
    CLOCHE_TRY(steps.Take(line, wanted));
  }
  Promotion& promotion = into.promotion;
  promotion.steps = steps.Finish();
  promotion.step_count = promotion.steps.size();
  promotion.parents = ParentsOf(promotion.steps, into.realities);
  return {};
}

}  // namespace cloche::apply
