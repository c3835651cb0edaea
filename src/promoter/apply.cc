#include "promoter/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/directory.h"

namespace cloche::promoter {

std::function<void()> before_change;

namespace {

std::unexpected<Error> Failed(const char* verb, const std::string& path, int error) {
  return Fail(error == EACCES || error == EPERM ? Code::kDenied : Code::kUnavailable,
              fmt::format("{} {}: {}", verb, EscapeForTerminal(path), strerror(error)),
              error == EPERM    ? "is it immutable? lsattr tells"
              : error == EACCES ? "you may not write there; root may: sudo cloche promote"
              : error == EROFS  ? "it is mounted read-only"
                                : "");
}

std::unexpected<Error> Moved(const std::string& path) {
  return Fail(Code::kConflict,
              fmt::format("{}: reality has changed it in between", EscapeForTerminal(path)),
              "look again, then try again");
}

bool SameFile(const Identity& a, const Identity& b) {
  return a.device == b.device && a.inode == b.inode;
}

int Rename(int from, const std::string& name, int to, const std::string& other, unsigned flags) {
  if (before_change) before_change();
  return renameat2(from, name.c_str(), to, other.c_str(), flags) < 0 ? -errno : 0;
}

Status SetStatus(const Step& step, const Name& at, const DirectoryStatus& status, bool root) {
  const sys::Fd directory(openat(at.directory->get(), at.name.c_str(),
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return Failed("open", step.path, errno);
  // Another that was put there meanwhile is not ours to change.
  struct stat info;
  const Identity& ours = step.staged.exists() ? step.staged : step.before;
  if (fstat(directory.get(), &info) < 0) return Failed("open", step.path, errno);
  if (!SameFile(IdentityOf(info), ours)) return Moved(step.path);
  if (before_change) before_change();
  if (root && fchown(directory.get(), status.uid, status.gid) < 0)
    return Failed("give away", step.path, errno);
  if (fchmod(directory.get(), status.mode) < 0) return Failed("set the mode of", step.path, errno);
  const timespec time{status.modified_ns / 1'000'000'000, status.modified_ns % 1'000'000'000};
  const timespec times[2] = {{0, UTIME_OMIT}, time};
  return futimens(directory.get(), times) < 0 ? Failed("set the time of", step.path, errno)
                                              : Status();
}

// A directory must be empty before it goes, and still be when it has gone.
Status TakeAway(const Step& step, const Name& at, int files, const std::string& name,
                const Identity& expected) {
  if (step.directory && !sys::IsEmptyDirectory(at.directory->get(), at.name.c_str()))
    return Fail(Code::kConflict,
                fmt::format("remove {}: reality has something in it that the sandbox never saw",
                            EscapeForTerminal(step.path)),
                "look at it, then try again");
  if (int error = Rename(at.directory->get(), at.name, files, name, RENAME_NOREPLACE); error < 0)
    return Failed("remove", step.path, -error);
  const bool right = SameFile(IdentityAt(files, name), expected) &&
                     (!step.directory || sys::IsEmptyDirectory(files, name.c_str()));
  if (right) return {};
  (void)Rename(files, name, at.directory->get(), at.name, RENAME_NOREPLACE);
  return Moved(step.path);
}

Status PutBack(const Step& step, const Name& at, int files, const std::string& name) {
  if (int error = Rename(files, name, at.directory->get(), at.name, RENAME_NOREPLACE); error < 0)
    return error == -EEXIST ? Moved(step.path) : Failed("make", step.path, -error);
  return {};
}

}  // namespace

Status Apply(const Step& step, int files, const Realities& realities, bool root,
             std::set<uint64_t>& moved) {
  ASSIGN_OR_RETURN(const Name at, realities.at(step.target).Find(step.path));
  const std::string name = std::to_string(step.number);
  if (step.directory) realities.at(step.target).Forget();
  switch (step.kind) {
    case StepKind::kSetDir:
      return SetStatus(step, at, step.new_status, root);
    case StepKind::kCreate:
      return PutBack(step, at, files, name);
    case StepKind::kDelete:
    case StepKind::kReplace:
      break;
  }
  // Whoever moves a file changes its time: of one that was moved, and of directories, the inode has
  // to do.
  const Identity now = IdentityAt(at.directory->get(), at.name);
  const bool still = step.directory || moved.contains(step.before.inode)
                         ? SameFile(now, step.before)
                         : now == step.before;
  if (!still) return Moved(step.path);
  moved.insert(step.before.inode);
  if (step.kind == StepKind::kDelete) return TakeAway(step, at, files, name, step.before);
  if (int error = Rename(files, name, at.directory->get(), at.name, RENAME_EXCHANGE); error < 0)
    return Failed("replace", step.path, -error);
  // What came out is what really was there.
  if (SameFile(IdentityAt(files, name), step.before)) return {};
  (void)Rename(files, name, at.directory->get(), at.name, RENAME_EXCHANGE);
  return Moved(step.path);
}

Status Revert(const Step& step, int files, const Realities& realities, bool root) {
  const auto found = realities.at(step.target).Find(step.path);
  const std::string name = std::to_string(step.number);
  const Identity kept = IdentityAt(files, name);
  if (!found) {
    // What it is in was never made, unless we hold what was there.
    const bool done = step.before.exists() && SameFile(kept, step.before);
    return done ? Status(std::unexpected(found.error())) : Status();
  }
  const Name& at = *found;
  if (step.directory) realities.at(step.target).Forget();
  const Identity real = IdentityAt(at.directory->get(), at.name);
  switch (step.kind) {
    case StepKind::kSetDir:
      if (!real.exists() || step.staged.exists()) return {};  // ours: it goes as a whole
      return SetStatus(step, at, step.old_status, root);
    case StepKind::kCreate:
      if (!SameFile(real, step.staged)) return {};  // not done, or no longer ours
      return TakeAway(step, at, files, name, step.staged);
    case StepKind::kDelete:
      if (!SameFile(kept, step.before)) return {};
      return PutBack(step, at, files, name);
    case StepKind::kReplace:
      break;
  }
  if (!SameFile(kept, step.before)) return {};
  if (!SameFile(real, step.staged)) return Moved(step.path);
  if (int error = Rename(files, name, at.directory->get(), at.name, RENAME_EXCHANGE); error < 0)
    return Failed("restore", step.path, -error);
  return {};
}

int64_t SettledAt(const Step& step, const Realities& realities) {
  const auto at = realities.at(step.target).Find(step.path);
  return at ? IdentityAt((*at).directory->get(), (*at).name).changed_ns : 0;
}

bool StillOurs(const Step& step, int64_t settled_ns, const Realities& realities) {
  const auto at = realities.at(step.target).Find(step.path);
  const Identity now = at ? IdentityAt(at->directory->get(), at->name) : Identity();
  switch (step.kind) {
    case StepKind::kDelete:
      return !now.exists();
    case StepKind::kSetDir:
      return now.exists();
    case StepKind::kCreate:
    case StepKind::kReplace:
      break;
  }
  return SameFile(now, step.staged) && (step.directory || now.changed_ns == settled_ns);
}

}  // namespace cloche::promoter
