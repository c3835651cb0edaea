#include "sys/file.h"

#include <dirent.h>
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

namespace {

// A directory made unreadable inside (chmod 0) still has to go; rootless removal is its owner.
int OpenForRemoval(int dir, const char* name) {
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = openat(dir, name, flags);
  if (fd < 0 && errno == EACCES) {
    fchmodat(dir, name, 0700, 0);
    fd = openat(dir, name, flags);
  }
  return fd;
}

}  // namespace

int RemoveTree(int dir, const char* name) {
  struct stat top;
  if (fstatat(dir, name, &top, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT ? 0 : -errno;
  if (!S_ISDIR(top.st_mode)) return unlinkat(dir, name, 0) < 0 ? -errno : 0;

  // Directories found below are renamed up into `name` itself before they are emptied, so the
  // descent is one level deep however deep the tree is, and no path grows.
  Fd root(OpenForRemoval(dir, name));
  if (!root.valid()) return -errno;
  int first_error = 0;
  unsigned serial = 0;
  auto note = [&](int error) {
    if (first_error == 0) first_error = -error;
  };
  for (bool again = true; again && first_error == 0;) {
    again = false;
    DIR* list = fdopendir(dup(root.get()));
    if (!list) return -errno;
    rewinddir(list);
    while (dirent* entry = readdir(list)) {
      if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
      if (unlinkat(root.get(), entry->d_name, 0) == 0 || errno == ENOENT) continue;
      if (errno != EISDIR && errno != EPERM && errno != EACCES) {
        note(errno);
        continue;
      }
      if (unlinkat(root.get(), entry->d_name, AT_REMOVEDIR) == 0) continue;
      if (errno == EBUSY || errno == EPERM) {
        note(errno);
        continue;
      }
      Fd child(OpenForRemoval(root.get(), entry->d_name));
      if (!child.valid()) {
        note(errno);
        continue;
      }
      fchmod(child.get(), 0700);
      struct stat info;
      if (fstat(child.get(), &info) < 0 || info.st_dev != top.st_dev) {
        note(EXDEV);
        continue;
      }
      DIR* below = fdopendir(child.Release());
      if (!below) {
        note(errno);
        continue;
      }
      while (dirent* item = readdir(below)) {
        if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, "..")) continue;
        if (unlinkat(dirfd(below), item->d_name, 0) == 0) continue;
        if (unlinkat(dirfd(below), item->d_name, AT_REMOVEDIR) == 0) continue;
        char fresh[32];
        do {
          snprintf(fresh, sizeof fresh, ".rm-%u", ++serial);
        } while (faccessat(root.get(), fresh, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
        fchmodat(dirfd(below), item->d_name, 0700, 0);
        if (renameat(dirfd(below), item->d_name, root.get(), fresh) < 0) note(errno);
      }
      closedir(below);
      if (unlinkat(root.get(), entry->d_name, AT_REMOVEDIR) < 0) note(errno);
      again = true;
    }
    closedir(list);
  }
  if (first_error != 0) return first_error;
  return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

bool HasAttribute(int fd, const char* name) { return fgetxattr(fd, name, nullptr, 0) >= 0; }

int LetRead(int file, uint32_t uid) {
  struct Entry {
    uint16_t tag, permissions;
    uint32_t id;
  };
  // acl(5) as an extended attribute: owner rw, the user r, group none, mask r, others none.
  struct {
    uint32_t version = 2;
    Entry entries[5];
  } list;
  const Entry entries[] = {
      {0x01, 6, ~0u}, {0x02, 4, uid}, {0x04, 0, ~0u}, {0x10, 4, ~0u}, {0x20, 0, ~0u}};
  memcpy(list.entries, entries, sizeof entries);
  return fsetxattr(file, "system.posix_acl_access", &list, sizeof list, 0) < 0 ? -errno : 0;
}

void RandomBytes(unsigned char* bytes, size_t size) {
  while (size > 0) {
    ssize_t got = getrandom(bytes, size, 0);
    if (got <= 0) continue;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
}

int64_t ModifiedNanos(const char* path) {
  struct stat info;
  if (stat(path, &info) < 0) return 0;
  return info.st_mtim.tv_sec * 1000000000ll + info.st_mtim.tv_nsec;
}

bool IsEmptyDirectory(int dir, const char* path) {
  DIR* list = fdopendir(openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!list) return false;
  bool empty = true;
  while (dirent* entry = readdir(list))
    empty = empty && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."));
  closedir(list);
  return empty;
}

bool IsRegularFile(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

uint64_t MonotonicMicros() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace cloche::sys
