#include "sys/path_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace cloche::sys {
namespace {

class Watched : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/path_watch_XXXXXX";
    top_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(top_ + "/inner");
    for (const std::string& path : {top_, top_ + "/inner"}) {
      Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      watch_.AddDirectory(fd.get(), path);
    }
    watch_.AddPath(top_);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  void Write(const std::string& name) { std::ofstream(top_ + name) << "x"; }

  std::string top_;
  PathWatch watch_;
};

TEST_F(Watched, NothingHappeningIsNotAChange) { EXPECT_FALSE(watch_.Changed()); }

TEST_F(Watched, ANewNameBelowIsAChange) {
  Write("/inner/.env");
  EXPECT_TRUE(watch_.Changed());
  EXPECT_TRUE(watch_.Changed()) << "it stays told";
}

TEST_F(Watched, ANameMovedInIsAChange) {
  Write("/a");
  std::filesystem::rename(top_ + "/a", top_ + "/inner/a");
  EXPECT_TRUE(watch_.Changed());
}

TEST_F(Watched, ReplacingThePathIsAChange) {
  std::filesystem::rename(top_, top_ + ".old");
  std::filesystem::create_directory(top_);
  EXPECT_TRUE(watch_.Changed());
  std::filesystem::remove_all(top_ + ".old");
}

TEST_F(Watched, OnlyAddedNamesCount) {
  PathWatch watch;
  watch.AddName(top_ + "/inner/link");
  watch.AddName(top_ + "/inner/other");
  Write("/inner/neighbour");
  EXPECT_FALSE(watch.Changed());
  std::filesystem::create_symlink("x", top_ + "/inner/link");
  EXPECT_TRUE(watch.Changed());
  EXPECT_TRUE(watch.Changed()) << "it stays told";
}

TEST_F(Watched, ReplacingAnAddedNameIsAChange) {
  std::filesystem::create_directory(top_ + "/inner/link");
  PathWatch watch;
  watch.AddName(top_ + "/inner/link");
  Write("/inner/link/file");
  EXPECT_FALSE(watch.Changed()) << "what happens in it does not count";
  std::filesystem::create_symlink("x", top_ + "/inner/new");
  EXPECT_FALSE(watch.Changed());
  std::filesystem::remove_all(top_ + "/inner/link");
  std::filesystem::rename(top_ + "/inner/new", top_ + "/inner/link");
  EXPECT_TRUE(watch.Changed());
}

TEST_F(Watched, RemovingTheDirectoryOfANameIsAChange) {
  PathWatch watch;
  watch.AddName(top_ + "/inner/link");
  std::filesystem::rename(top_ + "/inner", top_ + "/gone");
  EXPECT_TRUE(watch.Changed());
}

TEST_F(Watched, PathsLongerThanTheKernelTakesAreWatched) {
  const std::string name(200, 'd');
  std::string path = top_;
  Fd above(open(top_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(mkdirat(above.get(), name.c_str(), 0700), 0);
    above = Fd(openat(above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    path += "/" + name;
  }
  PathWatch watch;
  watch.AddAccess(path);
  EXPECT_FALSE(watch.Changed());
  ASSERT_EQ(fchmod(above.get(), 0755), 0);
  EXPECT_TRUE(watch.Changed());
}

TEST(PathWatch, ReplacingAFileIsAChange) {
  std::string path = testing::TempDir() + "/path_watch_file";
  std::ofstream(path) << "one";
  PathWatch watch;
  watch.AddPath(path);
  EXPECT_FALSE(watch.Changed());
  std::ofstream(path + ".new") << "two";
  std::filesystem::rename(path + ".new", path);
  EXPECT_TRUE(watch.Changed());
  std::filesystem::remove(path);
}

TEST_F(Watched, ManyWatchesLeaveInstancesForOthersAndStillWork) {
  std::vector<PathWatch> many(1000);
  for (PathWatch& watch : many) {
    Fd fd(open(top_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    watch.AddDirectory(fd.get(), top_);
  }
  Fd other(inotify_init1(IN_CLOEXEC));
  EXPECT_TRUE(other.valid());
  for (const PathWatch& watch : many) EXPECT_FALSE(watch.Changed());
  Write("/new");
  for (const PathWatch& watch : many) EXPECT_TRUE(watch.Changed());
}

TEST_F(Watched, AccessCoversOwnerAndModeButNotNames) {
  const std::string inner = top_ + "/inner";
  PathWatch access;
  access.AddAccess(inner);
  Write("/inner/new");
  EXPECT_FALSE(access.Changed());
  std::filesystem::permissions(inner, std::filesystem::perms::owner_all);
  EXPECT_TRUE(access.Changed());
}

TEST_F(Watched, AppearingWhereNothingWasIsAChange) {
  PathWatch absent;
  absent.AddAbsent(top_ + "/later");
  EXPECT_FALSE(absent.Changed());
  Write("/later");
  EXPECT_TRUE(absent.Changed());
}

}  // namespace
}  // namespace cloche::sys
