#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "sys/fd.h"

namespace cloche::sys {

bool WriteWhole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

int WriteFileAt(int dir, const char* path, std::string_view content) {
  Fd file(openat(dir, path, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return -errno;
  ssize_t written = write(file.get(), content.data(), content.size());
  if (written < 0) return -errno;
  return static_cast<size_t>(written) == content.size() ? 0 : -EIO;
}

int ReadFileAt(int dir, const char* path, std::string& content, size_t limit) {
  Fd file(openat(dir, path, O_RDONLY | O_CLOEXEC));
  return file.valid() ? ReadAll(file.get(), content, limit) : -errno;
}

int ReadAll(int file, std::string& content, size_t limit) {
  content.clear();
  char buffer[4096];
  for (;;) {
    ssize_t got = read(file, buffer, sizeof buffer);
    if (got < 0) return -errno;
    if (got == 0) return 0;
    if (content.size() + static_cast<size_t>(got) > limit) return -EFBIG;
    content.append(buffer, static_cast<size_t>(got));
  }
}

int64_t NumberIn(const char* text, const char* key) {
  const char* at = text;
  if (*key != '\0') {
    for (;;) {
      at = strstr(at, key);
      if (!at) return -1;
      bool starts_line = at == text || at[-1] == '\n';
      at += strlen(key);
      if (starts_line && *at == ' ') break;
    }
  }
  char* end = nullptr;
  long long value = strtoll(at, &end, 10);
  return end == at ? -1 : value;
}

int64_t ReadNumberAt(int dir, const char* path, const char* key) {
  std::string text;
  return ReadFileAt(dir, path, text) < 0 ? -1 : NumberIn(text.c_str(), key);
}

bool HasAttribute(int fd, const char* name) { return fgetxattr(fd, name, nullptr, 0) >= 0; }

void RandomBytes(unsigned char* bytes, size_t size) {
  while (size > 0) {
    ssize_t got = getrandom(bytes, size, 0);
    if (got <= 0) continue;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
}

bool IsRegularFile(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

namespace {

int64_t NanosOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

int64_t RealNanos() { return NanosOf(CLOCK_REALTIME); }

int64_t CoarseNanos() { return NanosOf(CLOCK_REALTIME_COARSE); }

uint64_t MonotonicMicros() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace cloche::sys
