#include "change/apply/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/shown_path.h"
#include "base/text.h"
#include "change/apply/mismatch.h"
#include "sys/directory.h"
#include "sys/file_times.h"

namespace cloche::apply {

namespace {

std::unexpected<Error> Failed(const char* verb, const std::string& path, int error) {
  return Fail(error == EACCES || error == EPERM ? Code::kDenied : Code::kUnavailable,
              fmt::format("{} {}: {}", verb, ShownPath(path), strerror(error)),
              error == EPERM    ? "is it immutable? lsattr tells"
              : error == EACCES ? "you may not write there; root may: sudo cloche promote"
              : error == EROFS  ? "it is mounted read-only"
                                : "");
}

std::unexpected<Error> Moved(const std::string& path) {
  return Fail(Code::kConflict,
              fmt::format("{}: reality has changed it in between", ShownPath(path)),
              "look again, then try again");
}

std::unexpected<Error> HasWriterNow(const std::string& path) {
  return Fail(Code::kConflict,
              fmt::format("{}: a process has it open for writing", ShownPath(path)),
              OpenForWritingCure(path));
}

timespec TimeOf(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t rest = (ns % kSecond + kSecond) % kSecond;  // non-negative before 1970, too
  return {(ns - rest) / kSecond, rest};
}

// The file taken from reality could not be put back; the error says where it is kept.
std::unexpected<Error> LeftInStore(const Step& step, const Store::Entry& entry,
                                   const std::string& name) {
  return Fail(Code::kConflict,
              fmt::format("{}: reality has changed it in between, twice; what was taken from there "
                          "is kept as {}",
                          EscapeForTerminal(step.path), KeptName(step, entry, name)),
              "look at both, and put back the right one");
}

int Rename(int from, const std::string& name, int to, const std::string& other, unsigned flags) {
  return renameat2(from, name.c_str(), to, other.c_str(), flags) < 0 ? -errno : 0;
}

// Fails if somebody put another directory there meanwhile.
Result<sys::Fd> OpenOurs(const Step& step, const Name& at) {
  sys::Fd directory(openat(at.directory->get(), at.name.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!directory.valid() || fstat(directory.get(), &info) < 0)
    return Failed("open", step.path, errno);
  const Identity& ours = step.prepared.exists() ? step.prepared : step.before;
  if (!SameFile(IdentityOf(info), ours)) return Moved(step.path);
  return directory;
}

// Sets the attributes of `status` and removes those that only the other state has.
Status SetAttributes(const Step& step, int directory, const DirectoryStatus& status) {
  for (const auto* each : {&step.details().old_status, &step.details().new_status})
    for (const auto& [name, value] : each->attributes)
      if (!status.attributes.contains(name) && fremovexattr(directory, name.c_str()) < 0 &&
          errno != ENODATA)
        return Failed("remove an attribute of", step.path, errno);
  for (const auto& [name, value] : status.attributes)
    if (fsetxattr(directory, name.c_str(), value.data(), value.size(), 0) < 0)
      return Failed("set an attribute of", step.path, errno);
  return {};
}

Status SetStatus(const Step& step, const Name& at, const DirectoryStatus& status, bool root) {
  ASSIGN_OR_RETURN(const sys::Fd directory, OpenOurs(step, at));
  CLOCHE_TRY(SetAttributes(step, directory.get(), status));
  if (root && fchown(directory.get(), status.uid, status.gid) < 0)
    return Failed("give away", step.path, errno);
  if (fchmod(directory.get(), status.mode) < 0) return Failed("set the mode of", step.path, errno);
  const timespec times[2] = {{0, UTIME_OMIT}, TimeOf(status.modified_ns)};
  return futimens(directory.get(), times) < 0 ? Failed("set the time of", step.path, errno)
                                              : Status();
}

// Whether the rename moved the file that was examined, unchanged; a directory must still be empty.
bool CameOutAs(const Identity& expected, const HeldFile& held, const Step& step, int files,
               const std::string& name) {
  if (!SameFile(IdentityAt(files, name), expected)) return false;
  if (step.forced) return true;
  return step.directory ? sys::IsEmptyDirectory(files, name.c_str()) : held.IsUnchanged();
}

// A directory must be empty before the rename, and still empty after it.
Status TakeAway(const Step& step, const Name& at, const Store::Entry& entry,
                const std::string& name, const Identity& expected, const HeldFile& held) {
  const int files = entry.Of(step);
  if (step.directory && !step.forced &&
      !sys::IsEmptyDirectory(at.directory->get(), at.name.c_str()))
    return Fail(Code::kConflict,
                fmt::format("remove {}: reality has something in it that the sandbox never saw",
                            ShownPath(step.path)),
                "look at it, then try again");
  if (int error = Rename(at.directory->get(), at.name, files, name, RENAME_NOREPLACE); error < 0)
    return Failed("remove", step.path, -error);
  if (CameOutAs(expected, held, step, files, name)) return {};
  if (Rename(files, name, at.directory->get(), at.name, RENAME_NOREPLACE) < 0)
    return LeftInStore(step, entry, name);
  return Moved(step.path);
}

// Removes what a step created, unless somebody has written to it.
Status TakeBack(const Step& step, const Name& at, const Store::Entry& entry,
                const std::string& name) {
  const HeldFile held(at);
  if (IsWritten(step, at.directory->get(), at.name)) return Moved(step.path);
  if (held.has_writer() && !step.forced) return HasWriterNow(step.path);
  return TakeAway(step, at, entry, name, step.prepared, held);
}

Status PutInPlace(const Step& step, const Name& at, int files, const std::string& name) {
  if (int error = Rename(files, name, at.directory->get(), at.name, RENAME_NOREPLACE); error < 0)
    return error == -EEXIST ? Moved(step.path) : Failed("make", step.path, -error);
  return {};
}

// Only we write to the store. On another filesystem, a sandbox with --rw may reach what we
// prepared.
Status CheckPrepared(const Step& step, int files, const std::string& name) {
  if (step.side_store == 0) return {};
  if (SameFile(IdentityAt(files, name), step.prepared) && !IsWritten(step, files, name)) return {};
  return Fail(Code::kConflict,
              fmt::format("promote {}: what was prepared for it was changed by somebody",
                          ShownPath(step.path)),
              "look who may write in .cloche-promotions there, and promote again");
}

bool IsThere(const Name& at) { return IdentityAt(at.directory->get(), at.name).exists(); }

// Does not compare attributes and times.
bool HasStatus(const Name& at, const DirectoryStatus& status) {
  struct stat info;
  return fstatat(at.directory->get(), at.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         (info.st_mode & 07777) == status.mode && info.st_uid == status.uid &&
         info.st_gid == status.gid;
}

// Only root sets owners, so only root compares them.
bool IsLeftAs(const struct stat& info, const DirectoryStatus& status, bool root) {
  return (info.st_mode & 07777) == status.mode &&
         (!root || (info.st_uid == status.uid && info.st_gid == status.gid));
}

// The new attributes are set and the removed ones are gone.
bool HasAttributes(const Name& at, const StepDetails& details) {
  const std::string whole = fmt::format("/proc/self/fd/{}/{}", at.directory->get(), at.name);
  for (const auto& [name, value] : details.new_status.attributes) {
    std::string now(value.size() + 1, '\0');
    const ssize_t size = lgetxattr(whole.c_str(), name.c_str(), now.data(), now.size());
    if (size < 0 || now.substr(0, static_cast<size_t>(size)) != value) return false;
  }
  for (const auto& [name, value] : details.old_status.attributes)
    if (!details.new_status.attributes.contains(name) &&
        lgetxattr(whole.c_str(), name.c_str(), nullptr, 0) >= 0)
      return false;
  return true;
}

}  // namespace

Status Apply(const Step& step, const Store::Entry& entry, const Realities& realities, bool root,
             Taken& taken) {
  ASSIGN_OR_RETURN(const Name at, realities.at(step.target).Find(step.path));
  const std::string name = std::to_string(step.number);
  const int files = entry.Of(step);
  if (step.directory) realities.at(step.target).Forget();
  switch (step.kind) {
    case StepKind::kSetDir:
      return SetStatus(step, at, step.details().new_status, root);
    case StepKind::kCreate:
      CLOCHE_TRY(CheckPrepared(step, files, name));
      return PutInPlace(step, at, files, name);
    case StepKind::kReplace:
      CLOCHE_TRY(CheckPrepared(step, files, name));
      break;
    case StepKind::kDelete:
      break;
  }
  const HeldFile held(at);
  const FileNumber number{step.before.device, step.before.inode};
  const auto linked = taken.linked.find(number);
  // A rename changes a file's ctime. If an earlier step took the file away under another name,
  // compare the rest of what we know about it. For a directory, compare only the inode.
  const bool still = step.directory ? SameFile(held.identity(), step.before)
                     : linked != taken.linked.end()
                         ? SameFile(held.identity(), step.before) && held.facts() == linked->second
                         : held.identity() == step.before;
  if (!still) return Moved(step.path);
  if (held.has_writer()) return HasWriterNow(step.path);
  if (step.kind == StepKind::kDelete) {
    CLOCHE_TRY(TakeAway(step, at, entry, name, step.before, held));
  } else {
    if (int error = Rename(files, name, at.directory->get(), at.name, RENAME_EXCHANGE); error < 0)
      return Failed("replace", step.path, -error);
    if (!CameOutAs(step.before, held, step, files, name)) {
      if (Rename(files, name, at.directory->get(), at.name, RENAME_EXCHANGE) < 0)
        return LeftInStore(step, entry, name);
      return Moved(step.path);
    }
  }
  if (step.directory) return {};
  if (held.names() > 1) {
    taken.linked.emplace(number, held.facts());
    return {};
  }
  if (taken.changed_ns.size() <= step.number) taken.changed_ns.resize(step.number + 1);
  taken.changed_ns[step.number] = IdentityAt(files, name).changed_ns;
  return {};
}

Status CheckKept(const Step& step, const Store::Entry& entry, const Taken& taken) {
  if (step.directory || (step.kind != StepKind::kReplace && step.kind != StepKind::kDelete))
    return {};
  const HeldFile held(entry.Of(step), std::to_string(step.number));
  const auto linked = taken.linked.find({step.before.device, step.before.inode});
  const bool still = linked != taken.linked.end()
                         ? held.facts() == linked->second
                         : step.number < taken.changed_ns.size() &&
                               held.identity().changed_ns == taken.changed_ns[step.number];
  if (!still) return Moved(step.path);
  return held.has_writer() ? HasWriterNow(step.path) : Status();
}

Status Revert(const Step& step, const Store::Entry& entry, const Realities& realities, bool root) {
  const auto found = realities.at(step.target).Find(step.path);
  const std::string name = std::to_string(step.number);
  const int files = entry.Of(step);
  const Identity kept = IdentityAt(files, name);
  const bool done = IsDone(step, entry, realities);
  if (!found) {
    // The parent was never created, or was removed along with what we created in it. But a file
    // taken from reality must go back, so then this is an error.
    const bool gone = step.kind == StepKind::kCreate && found.error().code == Code::kNotFound;
    if (step.kind == StepKind::kSetDir || gone || !done) return {};
    return std::unexpected(found.error());
  }
  const Name& at = *found;
  if (step.directory) realities.at(step.target).Forget();
  const Identity real = IdentityAt(at.directory->get(), at.name);
  switch (step.kind) {
    case StepKind::kSetDir:
      if (!real.exists() || step.prepared.exists()) return {};  // we created it: Revert removes it
      return SetStatus(step, at, step.details().old_status, root);
    case StepKind::kCreate:
      // Not done, or somebody has replaced it.
      if (!real.exists() || !SameFile(real, step.prepared)) return {};
      return TakeBack(step, at, entry, name);
    case StepKind::kDelete:
      // The rename may have taken a file that appeared just before it; that one goes back, too.
      if (!done) return {};
      if (real.exists() && step.forced && SameFile(real, step.prepared)) {
        if (int error =
                Rename(at.directory->get(), at.name, files, name + ".forced", RENAME_NOREPLACE);
            error < 0)
          return Failed("take away", step.path, -error);
        return PutInPlace(step, at, files, name);
      }
      if (real.exists()) return LeftInStore(step, entry, name);
      return PutInPlace(step, at, files, name);
    case StepKind::kReplace:
      break;
  }
  if (!done || !kept.exists()) return {};
  if (step.forced && !real.exists()) return PutInPlace(step, at, files, name);
  if (!SameFile(real, step.prepared)) return LeftInStore(step, entry, name);
  const HeldFile held(at);
  if (!SameFile(held.identity(), step.prepared) || IsWritten(step, at.directory->get(), at.name))
    return LeftInStore(step, entry, name);
  if (held.has_writer() && !step.forced) return HasWriterNow(step.path);
  if (int error = Rename(files, name, at.directory->get(), at.name, RENAME_EXCHANGE); error < 0)
    return Failed("restore", step.path, -error);
  if (CameOutAs(step.prepared, held, step, files, name)) return {};
  if (Rename(files, name, at.directory->get(), at.name, RENAME_EXCHANGE) < 0)
    return LeftInStore(step, entry, name);
  return Moved(step.path);
}

Status SetAgain(const Step& step, const Realities& realities, bool root) {
  const auto at = realities.at(step.target).Find(step.path);
  if (!at || !HasStatus(*at, step.details().new_status)) return {};
  return SetStatus(step, *at, step.details().new_status, root);
}

Status Reopen(const Step& step, const Realities& realities) {
  if (step.kind != StepKind::kSetDir || (step.details().new_status.mode & 0700) == 0700) return {};
  const auto at = realities.at(step.target).Find(step.path);
  const Identity& ours = step.prepared.exists() ? step.prepared : step.before;
  if (!at || !SameFile(IdentityAt(at->directory->get(), at->name), ours)) return {};
  // Through /proc: we may not have permission to open it ourselves.
  const std::string whole = fmt::format("/proc/self/fd/{}/{}", at->directory->get(), at->name);
  const sys::Fd directory(open(whole.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (fstat(directory.get(), &info) < 0 || !SameFile(IdentityOf(info), ours)) return {};
  const std::string held = fmt::format("/proc/self/fd/{}", directory.get());
  return chmod(held.c_str(), step.details().old_status.mode | 0700) < 0
             ? Failed("set the mode of", step.path, errno)
             : Status();
}

Status Revert(const Parent& parent, const Realities& realities) {
  const auto directory = realities.at(parent.target).Directory(parent.path);
  struct stat info;
  if (!directory || fstat((*directory)->get(), &info) < 0 ||
      !SameFile(IdentityOf(info), parent.before))
    return {};  // it is gone
  const timespec times[2] = {{0, UTIME_OMIT}, TimeOf(parent.modified_ns)};
  // We may be able to write to a directory without owning it, but only the owner can set its time.
  if (futimens((*directory)->get(), times) < 0 && (info.st_uid == geteuid() || errno != EPERM))
    return Failed("set the time of", parent.path, errno);
  return {};
}

bool IsDone(const Step& step, const Store::Entry& entry, const Realities& realities) {
  const Identity kept = IdentityAt(entry.Of(step), std::to_string(step.number));
  switch (step.kind) {
    case StepKind::kCreate:
      return !kept.exists();
    case StepKind::kDelete:
      return kept.exists();
    case StepKind::kReplace:
      return !SameFile(kept, step.prepared);
    case StepKind::kSetDir:
      break;
  }
  // The store holds nothing for this step. It is not done only if the directory looks exactly as
  // before.
  const auto at = realities.at(step.target).Find(step.path);
  return !at || !IsThere(*at) || step.prepared.exists() ||
         HasStatus(*at, step.details().new_status) || !HasStatus(*at, step.details().old_status);
}

int64_t LeftAt(const Step& step, const Realities& realities) {
  const auto at = realities.at(step.target).Find(step.path);
  return at ? IdentityAt((*at).directory->get(), (*at).name).changed_ns : 0;
}

int64_t LeftAt(const Parent& parent, const Realities& realities) {
  const auto directory = realities.at(parent.target).Directory(parent.path);
  struct stat info;
  return directory && fstat((*directory)->get(), &info) == 0 ? IdentityOf(info).changed_ns : 0;
}

bool IsWritten(const Step& step, int directory, const std::string& name) {
  struct stat info;
  const bool known = step.prepared_modified_ns != 0 || step.prepared_size != 0;
  if (step.directory || step.forced || !known ||
      fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
    return false;
  const int64_t modified_ns = sys::Nanos(info.st_mtim);
  return modified_ns != step.prepared_modified_ns ||
         static_cast<uint64_t>(info.st_size) != step.prepared_size;
}

bool StillOurs(const Step& step, int64_t left_ns, const Realities& realities, bool root) {
  const auto at = realities.at(step.target).Find(step.path);
  const Identity now = at ? IdentityAt(at->directory->get(), at->name) : Identity();
  switch (step.kind) {
    case StepKind::kDelete:
      return !now.exists();
    case StepKind::kSetDir: {
      struct stat info;
      const Identity& ours = step.prepared.exists() ? step.prepared : step.before;
      return SameFile(now, ours) &&
             fstatat(at->directory->get(), at->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
             IsLeftAs(info, step.details().new_status, root) && HasAttributes(*at, step.details());
    }
    case StepKind::kCreate:
    case StepKind::kReplace:
      break;
  }
  return SameFile(now, step.prepared) && (step.directory || now.changed_ns == left_ns);
}

}  // namespace cloche::apply
