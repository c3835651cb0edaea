#include "sys/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <set>
#include <string>

namespace cloche::sys {
namespace {

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() : dir_(open(mkdtemp(path_), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~DirectoryTest() override { RemoveTree(AT_FDCWD, path_); }

  void MakeFile(int dir, const char* name) {
    ASSERT_TRUE(Fd(openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).valid());
  }
  bool Exists(const char* name) {
    return faccessat(dir_.get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  }

  char path_[32] = "/tmp/cloche-directory.XXXXXX";
  Fd dir_;
};

TEST_F(DirectoryTest, ListsEverythingExceptItselfAndItsParent) {
  MakeFile(dir_.get(), "a");
  MakeFile(dir_.get(), ".hidden");
  mkdirat(dir_.get(), "...", 0700);
  Directory list(dir_.get(), ".");
  std::set<std::string> names;
  while (const dirent* entry = list.Next()) names.insert(entry->d_name);
  EXPECT_EQ(names, (std::set<std::string>{"a", ".hidden", "..."}));
  EXPECT_EQ(list.error(), 0);
}

TEST_F(DirectoryTest, AnUnreadableDirectoryIsNotEmpty) {
  mkdirat(dir_.get(), "empty", 0700);
  MakeFile(dir_.get(), "file");
  symlinkat("empty", dir_.get(), "link");
  EXPECT_TRUE(IsEmptyDirectory(dir_.get(), "empty"));
  EXPECT_FALSE(IsEmptyDirectory(dir_.get(), "file"));
  EXPECT_FALSE(IsEmptyDirectory(dir_.get(), "link"));
  EXPECT_FALSE(IsEmptyDirectory(dir_.get(), "missing"));
  Directory missing(dir_.get(), "missing");
  EXPECT_FALSE(missing.valid());
  EXPECT_EQ(missing.Next(), nullptr);
  EXPECT_EQ(missing.error(), ENOENT);
}

TEST_F(DirectoryTest, RemovesATreeDeeperThanAnyPath) {
  mkdirat(dir_.get(), "tree", 0700);
  Fd here(openat(dir_.get(), "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 3000; ++depth) {
    ASSERT_EQ(mkdirat(here.get(), "deeper", 0700), 0);
    MakeFile(here.get(), ".rm-1");
    here = Fd(openat(here.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  EXPECT_EQ(RemoveTree(dir_.get(), "tree"), 0);
  EXPECT_FALSE(Exists("tree"));
}

TEST_F(DirectoryTest, RemovalFollowsNoSymlinkAndOpensClosedDirectories) {
  mkdirat(dir_.get(), "outside", 0700);
  MakeFile(dir_.get(), "outside/precious");
  mkdirat(dir_.get(), "tree", 0700);
  symlinkat("../outside", dir_.get(), "tree/link");
  mkdirat(dir_.get(), "tree/closed", 0700);
  MakeFile(dir_.get(), "tree/closed/file");
  fchmodat(dir_.get(), "tree/closed", 0, 0);
  EXPECT_EQ(RemoveTree(dir_.get(), "tree"), 0);
  EXPECT_FALSE(Exists("tree"));
  EXPECT_TRUE(Exists("outside/precious"));
}

TEST_F(DirectoryTest, ADirectoryRemovedWhileReadHasEnded) {
  mkdirat(dir_.get(), "goes", 0700);
  Directory list(dir_.get(), "goes");
  ASSERT_EQ(unlinkat(dir_.get(), "goes", AT_REMOVEDIR), 0);
  EXPECT_EQ(list.Next(), nullptr);
  EXPECT_EQ(list.error(), 0);
}

TEST_F(DirectoryTest, RemovingAMissingDirectorySucceeds) {
  EXPECT_EQ(RemoveTree(dir_.get(), "missing"), 0);
}

}  // namespace
}  // namespace cloche::sys
