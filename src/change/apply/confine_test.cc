#include "change/apply/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

namespace cloche::apply {
namespace {

namespace fs = std::filesystem;

class Confined : public testing::Test {
 protected:
  Confined() {
    char name[] = "/tmp/cloche-confine.XXXXXX";
    root_ = mkdtemp(name);
    for (const char* each : {"home", "project/sub", "project/other", "outside"})
      fs::create_directories(root_ / each);
    wish_.project = root_ / "project";
    wish_.home = root_ / "home";
    layout_.slots.resize(1);
    layout_.slots[0].target = "/";
  }
  ~Confined() override { fs::remove_all(root_); }

  // Runs `attempt` in a confined child. Returns its errno, 0 if it succeeded.
  int Try(bool dry_run, const std::function<bool()>& attempt) {
    const pid_t child = fork();
    if (child == 0) {
      const auto store = Store::Open(wish_.home);
      if (!store || !Confine(layout_, wish_, *store, dry_run)) _exit(255);
      errno = 0;
      _exit(attempt() ? 0 : errno);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::function<bool()> Make(const fs::path& below) {
    return [path = root_ / below] { return mkdirat(AT_FDCWD, path.c_str(), 0700) == 0; };
  }
  std::function<bool()> Write(const fs::path& below) {
    return [path = root_ / below] {
      return openat(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
    };
  }

  fs::path root_;
  Wish wish_;
  StateLayout layout_;
};

constexpr const char* kStore = "home/.local/state/cloche/promotions/pr_x";

TEST_F(Confined, WritesOnlyToTheProjectAndTheStore) {
  wish_.paths = {wish_.project};
  EXPECT_EQ(Try(false, Make("project/new")), 0);
  EXPECT_EQ(Try(false, Write("project/sub/file")), 0);
  EXPECT_EQ(Try(false, Make(kStore)), 0);
  EXPECT_EQ(Try(false, Make("outside/new")), EACCES);
  EXPECT_EQ(Try(false, Write("outside/file")), EACCES);
  EXPECT_EQ(Try(false, Make("home/new")), EACCES);
}

TEST_F(Confined, RenamesBetweenProjectAndStoreButNotOutOfThem) {
  wish_.paths = {wish_.project};
  fs::create_directories(root_ / kStore);
  const auto rename = [&](const char* from, const char* to) {
    return [from = root_ / from, to = root_ / to] {
      return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
    };
  };
  const std::string kept = std::string(kStore) + "/1";
  EXPECT_EQ(Try(false, rename("project/sub", kept.c_str())), 0);
  EXPECT_EQ(Try(false, rename(kept.c_str(), "project/sub")), 0);
  EXPECT_NE(Try(false, rename("project/sub", "outside/sub")), 0);
  EXPECT_NE(Try(false, rename("outside", "project/outside")), 0);
}

TEST_F(Confined, ForAPathOnlyItsNearestExistingDirectoryIsWritable) {
  wish_.paths = {root_ / "project/sub/not/yet"};
  EXPECT_EQ(Try(false, Make("project/sub/not")), 0);
  EXPECT_EQ(Try(false, Make("project/other/new")), EACCES);
}

TEST_F(Confined, ADryRunWritesNothing) {
  wish_.paths = {wish_.project};
  EXPECT_EQ(Try(true, Make("project/new")), EACCES);
  EXPECT_EQ(Try(true, Make(kStore)), EACCES);
}

TEST_F(Confined, StartsNoProcessButCanStillRead) {
  wish_.paths = {wish_.project};
  EXPECT_NE(Try(false,
                [] {
                  char* const none[] = {nullptr};
                  return execve("/bin/true", none, none) == 0;
                }),
            0);
  EXPECT_NE(Try(false, [] { return fork() >= 0; }), 0);
  EXPECT_EQ(Try(false, [] { return openat(AT_FDCWD, "/etc/passwd", O_RDONLY) >= 0; }), 0);
}

}  // namespace
}  // namespace cloche::apply
