#include "sys/file_limit.h"

#include <errno.h>
#include <sys/resource.h>

#include <algorithm>

namespace cloche::sys {

int AllowFiles(uint64_t count) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) < 0) return -errno;
  files.rlim_max = std::max<rlim_t>(files.rlim_max, count);
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, count);
  return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

}  // namespace cloche::sys
