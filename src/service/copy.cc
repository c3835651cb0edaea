#include "service/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "service/draft.h"
#include "sys/copy_tree.h"

namespace cloche::service {
namespace {

sys::CopyCount copied;

void TellProgress(int) {
  const int error = errno;
  char line[64];
  const int size = snprintf(line, sizeof line, "bytes %" PRIu64 "\n", copied.bytes + copied.shared);
  (void)!write(STDOUT_FILENO, line, static_cast<size_t>(size));
  errno = error;
}

void Say(const char* line) { (void)!write(STDOUT_FILENO, line, strlen(line)); }

int CopyInto(const Draft& draft) {
  if (int error = sys::CopyTree(draft.original(), draft.copy(), copied, draft.NotData()); error < 0)
    return error;
  struct stat info;
  if (fstat(draft.original(), &info) < 0) return -errno;
  if (fchown(draft.copy(), info.st_uid, info.st_gid) < 0) return -errno;
  return fchmod(draft.copy(), info.st_mode & 07777) < 0 ? -errno : 0;
}

// Opening it for writing makes the overlay copy it.
Status CopyFile(const std::string& path) {
  const sys::Fd file(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  return file.valid() ? Status() : CopyFailed("copy", path, errno);
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
    if (lstat(path.c_str(), &info) < 0) return CopyFailed("read", path, errno);
    if (!S_ISDIR(info.st_mode)) {
      CLOCHE_TRY(CopyFile(path));
      continue;
    }
    ASSIGN_OR_RETURN(Draft draft, Draft::Begin(path, drafts.size()));
    if (int error = CopyInto(draft); error < 0) return CopyFailed("copy", path, -error);
    drafts.push_back(std::move(draft));
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  TellProgress(0);
  Say("copied\n");
  for (const Draft& draft : drafts) CLOCHE_TRY(draft.PutInPlace());
  return {};
}

}  // namespace cloche::service
