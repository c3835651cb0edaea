#include "sys/file_times.h"

#include <sys/stat.h>

namespace cloche::sys {

int64_t ModifiedNanos(const char* path) {
  struct stat info;
  return stat(path, &info) < 0 ? 0 : Nanos(info.st_mtim);
}

}  // namespace cloche::sys
