#include "service/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "sys/copy_tree.h"
#include "sys/directory.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace cloche::service {
namespace {

constexpr const char* kDraft = ".cloche-copy-83fd02b7";  // nobody else's name, and a number
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMostAttempts = 100;

sys::CopyCount copied;

std::unexpected<Error> Failed(const char* verb, const std::string& path, int error) {
  return Fail(
      error == ENOSPC || error == EDQUOT ? Code::kExhausted : Code::kUnavailable,
      fmt::format("{} {}: {}", verb, path, strerror(error)),
      error == ENOSPC || error == EDQUOT ? "give the sandbox more room: --disk SIZE"
      : error == EPERM
          ? "something in there belongs to a user or group you cannot give files to; root can"
      : error == EROFS ? "the path is not the sandbox's own: leave out --ro and --rw"
                       : "");
}

void TellProgress(int) {
  const int error = errno;
  char line[64];
  const int size = snprintf(line, sizeof line, "bytes %llu\n",
                            static_cast<unsigned long long>(copied.bytes + copied.shared));
  (void)!write(STDOUT_FILENO, line, static_cast<size_t>(size));
  errno = error;
}

void Say(const char* line) { (void)!write(STDOUT_FILENO, line, strlen(line)); }

// A directory and its copy beside it.
struct Draft {
  std::string path;
  sys::Fd parent;
  std::string name;
  std::string copy;
};

int CopyInto(int from, int to) {
  if (int error = sys::CopyTree(from, to, copied); error < 0) return error;
  struct stat info;
  if (fstat(from, &info) < 0) return -errno;
  if (fchown(to, info.st_uid, info.st_gid) < 0) return -errno;
  return fchmod(to, info.st_mode & 07777) < 0 ? -errno : 0;
}

Status MakeDraft(Draft& draft) {
  const sys::Fd from(openat(draft.parent.get(), draft.name.c_str(), kDirectoryFlags));
  if (!from.valid()) return Failed("read", draft.path, errno);
  if (sys::IsMountRoot(from.get()))
    return Fail(
        Code::kUnavailable,
        fmt::format("copy {}: it is a mount of its own, which cannot be replaced", draft.path),
        "name the directory below it that holds the data: --service-data PATH");
  if (mkdirat(draft.parent.get(), draft.copy.c_str(), 0700) < 0)
    return Failed("copy", draft.path, errno);
  const sys::Fd to(openat(draft.parent.get(), draft.copy.c_str(), kDirectoryFlags));
  const int error = to.valid() ? CopyInto(from.get(), to.get()) : -errno;
  return error < 0 ? Failed("copy", draft.path, -error) : Status();
}

// The original moves on meanwhile: names may come and go.
Status PutInPlace(const Draft& draft) {
  int error = 0;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    error = sys::RemoveTree(draft.parent.get(), draft.name.c_str());
    if (error != 0 && error != -ENOENT && error != -ENOTEMPTY) break;
    if (renameat(draft.parent.get(), draft.copy.c_str(), draft.parent.get(), draft.name.c_str()) ==
        0)
      return {};
    error = -errno;
    if (error != -ENOTEMPTY && error != -EEXIST) break;
  }
  return Failed("replace", draft.path, -error);
}

// Opening it for writing makes the overlay copy it.
Status CopyFile(const std::string& path) {
  const sys::Fd file(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  return file.valid() ? Status() : Failed("copy", path, errno);
}

}  // namespace

Status CopyData(const std::vector<std::string>& paths) {
  struct sigaction tell {};
  tell.sa_handler = TellProgress;
  tell.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &tell, nullptr);
  const itimerval often{{0, 200'000}, {0, 200'000}};
  setitimer(ITIMER_REAL, &often, nullptr);

  std::vector<Draft> drafts;
  for (const std::string& path : paths) {
    struct stat info;
    if (lstat(path.c_str(), &info) < 0) return Failed("read", path, errno);
    if (!S_ISDIR(info.st_mode)) {
      CLOCHE_TRY(CopyFile(path));
      continue;
    }
    const size_t slash = path.find_last_of('/');
    Draft draft{
        path, sys::Fd(open(path.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        path.substr(slash + 1), fmt::format("{}-{}", kDraft, drafts.size())};
    if (!draft.parent.valid()) return Failed("read", path, errno);
    CLOCHE_TRY(MakeDraft(draft));
    drafts.push_back(std::move(draft));
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  TellProgress(0);
  Say("copied\n");
  for (const Draft& draft : drafts) CLOCHE_TRY(PutInPlace(draft));
  return {};
}

}  // namespace cloche::service
