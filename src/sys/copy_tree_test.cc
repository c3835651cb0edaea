#include "sys/copy_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "sys/directory.h"
#include "sys/fd.h"

namespace cloche::sys {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

class CopyTreeTest : public testing::Test {
 protected:
  CopyTreeTest() : top_(open(mkdtemp(path_), kDirectory)) {
    mkdirat(top_.get(), "from", 0700);
    mkdirat(top_.get(), "to", 0700);
    from_ = Fd(openat(top_.get(), "from", kDirectory));
    to_ = Fd(openat(top_.get(), "to", kDirectory));
  }
  ~CopyTreeTest() override { RemoveTree(AT_FDCWD, path_); }

  Fd Open(int dir, const std::string& name, int flags = O_RDONLY) {
    return Fd(openat(dir, name.c_str(), flags | O_CLOEXEC, 0600));
  }
  void Write(const std::string& name, const std::string& text) {
    const Fd file = Open(from_.get(), name, O_CREAT | O_WRONLY | O_TRUNC);
    ASSERT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string Read(const std::string& name) {
    char text[100] = {};
    const Fd file = Open(to_.get(), name);
    return read(file.get(), text, sizeof text - 1) < 0 ? strerror(errno) : text;
  }
  struct stat Stat(int dir, const std::string& name) {
    struct stat info {};
    EXPECT_EQ(fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW), 0) << name;
    return info;
  }
  int Copy() {
    CopyCount count;
    return CopyTree(from_.get(), to_.get(), count);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    Directory list(to_.get(), ".");
    while (const dirent* entry = list.Next()) names.push_back(entry->d_name);
    return names;
  }

  char path_[32] = "/tmp/cloche-copy.XXXXXX";
  Fd top_, from_, to_;
};

TEST_F(CopyTreeTest, CopiesContentsModesAndTimes) {
  Write("file", "text");
  mkdirat(from_.get(), "dir", 0700);
  Write("dir/inner", "deep");
  symlinkat("nowhere", from_.get(), "link");
  mkfifoat(from_.get(), "pipe", 0640);
  fchmodat(from_.get(), "file", 04711, 0);
  fchmodat(from_.get(), "dir", 03750, 0);
  const timespec times[2] = {{5, 6}, {1'000'000'000, 123'456'789}};
  for (const char* name : {"file", "dir", "link", "pipe"})
    ASSERT_EQ(utimensat(from_.get(), name, times, AT_SYMLINK_NOFOLLOW), 0);
  ASSERT_EQ(Copy(), 0);
  EXPECT_EQ(Read("file"), "text");
  EXPECT_EQ(Read("dir/inner"), "deep");
  for (const char* name : {"file", "dir", "link", "pipe"}) {
    const struct stat was = Stat(from_.get(), name), is = Stat(to_.get(), name);
    EXPECT_EQ(is.st_mode, was.st_mode) << name;
    EXPECT_EQ(is.st_mtim.tv_sec, was.st_mtim.tv_sec) << name;
    EXPECT_EQ(is.st_mtim.tv_nsec, was.st_mtim.tv_nsec) << name;
  }
  char target[20] = {};
  EXPECT_EQ(readlinkat(to_.get(), "link", target, sizeof target), 7);
}

TEST_F(CopyTreeTest, HardLinksStayOneFileAndNoExtraNamesAppear) {
  Write("one", "x");
  mkdirat(from_.get(), "dir", 0700);
  linkat(from_.get(), "one", from_.get(), "dir/two", 0);
  linkat(from_.get(), "one", from_.get(), "three", 0);
  mkdirat(from_.get(), ".links", 0700);  // somebody else's
  Write(".links/mine", "mine");
  ASSERT_EQ(Copy(), 0);
  EXPECT_EQ(Stat(to_.get(), "one").st_nlink, 3u);
  EXPECT_EQ(Stat(to_.get(), "one").st_ino, Stat(to_.get(), "dir/two").st_ino);
  EXPECT_EQ(Stat(to_.get(), "one").st_ino, Stat(to_.get(), "three").st_ino);
  EXPECT_EQ(Read(".links/mine"), "mine");
  EXPECT_EQ(Names().size(), 4u);
}

TEST_F(CopyTreeTest, HolesStayHoles) {
  Write("sparse", "begin");
  ASSERT_EQ(truncate((std::string(path_) + "/from/sparse").c_str(), 1 << 30), 0);
  {
    const Fd file = Open(from_.get(), "sparse", O_WRONLY);
    ASSERT_EQ(pwrite(file.get(), "middle", 6, 1 << 29), 6);
  }
  ASSERT_EQ(Copy(), 0);
  EXPECT_EQ(Stat(to_.get(), "sparse").st_size, 1 << 30);
  EXPECT_LT(Stat(to_.get(), "sparse").st_blocks, 1000);
  char text[7] = {};
  const Fd file = Open(to_.get(), "sparse");
  EXPECT_EQ(pread(file.get(), text, 6, 1 << 29), 6);
  EXPECT_STREQ(text, "middle");
}

TEST_F(CopyTreeTest, CopiesAttributesOfFilesAndDirectories) {
  Write("file", "x");
  mkdirat(from_.get(), "dir", 0700);
  const std::string base = std::string(path_) + "/from/", copy = std::string(path_) + "/to/";
  const std::string large(3000, 'v');
  if (setxattr((base + "file").c_str(), "user.large", large.data(), large.size(), 0) < 0)
    GTEST_SKIP() << "no user attributes here: " << strerror(errno);
  ASSERT_EQ(setxattr((base + "dir").c_str(), "user.empty", "", 0, 0), 0);
  ASSERT_EQ(Copy(), 0);
  char value[4000];
  EXPECT_EQ(getxattr((copy + "file").c_str(), "user.large", value, sizeof value), 3000);
  EXPECT_EQ(getxattr((copy + "dir").c_str(), "user.empty", value, sizeof value), 0);
}

// u::rw-,u:12345:r--,g::r--,m::r--,o::---, in the kernel's form.
std::string AccessList() {
  const uint32_t none = 0xffffffff;
  const struct {
    uint16_t tag, rights;
    uint32_t id;
  } entries[] = {{1, 6, none}, {2, 4, 12345}, {4, 4, none}, {16, 4, none}, {32, 0, none}};
  const uint32_t version = 2;
  return std::string(reinterpret_cast<const char*>(&version), 4) +
         std::string(reinterpret_cast<const char*>(entries), sizeof entries);
}

TEST_F(CopyTreeTest, FilesInheritNothingFromTheirDirectory) {
  mkdirat(from_.get(), "dir", 0700);
  Write("dir/plain", "x");
  const std::string base = std::string(path_) + "/from/dir", copy = std::string(path_) + "/to/dir";
  const std::string list = AccessList();
  if (setxattr(base.c_str(), "system.posix_acl_default", list.data(), list.size(), 0) < 0)
    GTEST_SKIP() << "no access lists here: " << strerror(errno);
  ASSERT_EQ(Copy(), 0);
  char value[200];
  EXPECT_EQ(getxattr(copy.c_str(), "system.posix_acl_default", value, sizeof value),
            static_cast<ssize_t>(list.size()));
  EXPECT_LT(getxattr((copy + "/plain").c_str(), "system.posix_acl_access", value, sizeof value), 0);
}

TEST_F(CopyTreeTest, CopiesOwnersCapabilitiesAndWhiteouts) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Write("file", "x");
  const std::string base = std::string(path_) + "/from/", copy = std::string(path_) + "/to/";
  ASSERT_EQ(fchownat(from_.get(), "file", 1234, 5678, 0), 0);
  fchmodat(from_.get(), "file", 06755, 0);
  // net_bind_service, effective, in the kernel's form.
  const uint32_t capability[5] = {0x02000001, 1 << 10, 0, 0, 0};
  ASSERT_EQ(
      setxattr((base + "file").c_str(), "security.capability", capability, sizeof capability, 0),
      0);
  ASSERT_EQ(mknodat(from_.get(), "whiteout", S_IFCHR, makedev(0, 0)), 0);
  ASSERT_EQ(linkat(from_.get(), "whiteout", from_.get(), "whiteout2", 0), 0);
  symlinkat("x", from_.get(), "link");
  ASSERT_EQ(fchownat(from_.get(), "link", 77, 88, AT_SYMLINK_NOFOLLOW), 0);
  const bool trusted = setxattr((base + "file").c_str(), "trusted.overlay.x", "y", 1, 0) == 0;
  ASSERT_EQ(Copy(), 0);
  EXPECT_EQ(Stat(to_.get(), "file").st_uid, 1234u);
  EXPECT_EQ(Stat(to_.get(), "file").st_gid, 5678u);
  EXPECT_EQ(Stat(to_.get(), "file").st_mode & 07777, 06755u);
  EXPECT_EQ(Stat(to_.get(), "link").st_uid, 77u);
  char value[40];
  EXPECT_EQ(getxattr((copy + "file").c_str(), "security.capability", value, sizeof value), 20);
  EXPECT_EQ(getxattr((copy + "file").c_str(), "trusted.overlay.x", value, 40), trusted ? 1 : -1);
  for (const char* name : {"whiteout", "whiteout2"}) {
    EXPECT_TRUE(S_ISCHR(Stat(to_.get(), name).st_mode));
    EXPECT_EQ(Stat(to_.get(), name).st_rdev, 0u);
  }
}

TEST_F(CopyTreeTest, RootCopiesFilesThatTheirOwnerMayNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  mkdirat(from_.get(), "closed", 0700);
  Write("closed/file", "secret");
  fchmodat(from_.get(), "closed/file", 0, 0);
  fchmodat(from_.get(), "closed", 0, 0);
  ASSERT_EQ(Copy(), 0);
  EXPECT_EQ(Read("closed/file"), "secret");
  EXPECT_EQ(Stat(to_.get(), "closed").st_mode & 07777, 0u);
  EXPECT_EQ(Stat(to_.get(), "closed/file").st_mode & 07777, 0u);
}

TEST_F(CopyTreeTest, CopiesFiveThousandLevelsAndTheLongestNames) {
  Fd here = Open(from_.get(), ".", kDirectory);
  const std::string name(200, 'd');
  for (int level = 0; level < 5000; ++level) {
    ASSERT_EQ(mkdirat(here.get(), name.c_str(), 0700), 0);
    here = Open(here.get(), name, kDirectory);
  }
  ASSERT_TRUE(Open(here.get(), std::string(255, 'f'), O_CREAT | O_WRONLY).valid());
  ASSERT_TRUE(Open(here.get(), "a\n\x01\xff", O_CREAT | O_WRONLY).valid());
  ASSERT_EQ(Copy(), 0);
  here = Open(to_.get(), ".", kDirectory);
  for (int level = 0; level < 5000; ++level) here = Open(here.get(), name, kDirectory);
  ASSERT_TRUE(here.valid());
  EXPECT_TRUE(Open(here.get(), std::string(255, 'f')).valid());
  EXPECT_TRUE(Open(here.get(), "a\n\x01\xff").valid());
}

TEST_F(CopyTreeTest, CopiesManyEntriesAroundDirectories) {
  for (int i = 0; i < 3000; ++i) {
    const std::string name = std::to_string(i);
    if (i % 3 == 0)
      mkdirat(from_.get(), name.c_str(), 0700);
    else
      Write(name, name);
    if (i % 3 == 0) Write(name + "/inner", name);
  }
  CopyCount count;
  ASSERT_EQ(CopyTree(from_.get(), to_.get(), count), 0);
  EXPECT_EQ(count.entries, 4000u);
  EXPECT_EQ(Names().size(), 3000u);
  for (int i = 0; i < 3000; i += 3)
    ASSERT_EQ(Read(std::to_string(i) + "/inner"), std::to_string(i));
}

TEST_F(CopyTreeTest, AnExistingNameIsAnError) {
  Write("file", "x");
  ASSERT_TRUE(Open(to_.get(), "file", O_CREAT | O_WRONLY).valid());
  EXPECT_EQ(Copy(), -EEXIST);
}

}  // namespace
}  // namespace cloche::sys
