#include "change/model/noise.h"

#include <gtest/gtest.h>

#include <string>

#include "change/model/change.h"

namespace cloche::change {
namespace {

constexpr std::string_view kProject = "/home/u/work/app";
constexpr std::string_view kHomeOfU = "/home/u";

Group Of(std::string_view path) { return Classify(path, kProject, kHomeOfU); }

TEST(Noise, EachPlaceHasItsGroup) {
  EXPECT_EQ(Of("/home/u/work/app/src/main.c"), Group::kReal);
  EXPECT_EQ(Of("/home/u/work/app"), Group::kReal);
  EXPECT_EQ(Of("/home/u/.bashrc"), Group::kReal);
  EXPECT_EQ(Of("/home/u/.ssh/authorized_keys"), Group::kReal);
  EXPECT_EQ(Of("/home/u/work/application/x"), Group::kReal);
  EXPECT_EQ(Of("/home/u/.cache"), Group::kCaches);
  EXPECT_EQ(Of("/home/u/.cache/pip/x"), Group::kCaches);
  EXPECT_EQ(Of("/home/u/.cached"), Group::kReal);
  EXPECT_EQ(Of("/home/u/.npm/_cacache/x"), Group::kPackages);
  EXPECT_EQ(Of("/home/u/.npm/_logs/x"), Group::kLogs);
  EXPECT_EQ(Of("/home/u/.cargo/registry/index"), Group::kPackages);
  EXPECT_EQ(Of("/home/u/.cargo/bin/tool"), Group::kReal);
  EXPECT_EQ(Of("/home/u/.cargo/config.toml"), Group::kReal);
  EXPECT_EQ(Of("/home/u/.bash_history"), Group::kHistory);
  EXPECT_EQ(Of("/home/u/.viminfo"), Group::kHistory);
  EXPECT_EQ(Of("/var/lib/dpkg/status"), Group::kPackages);
  EXPECT_EQ(Of("/var/lib/apt/lists/x"), Group::kPackages);
  EXPECT_EQ(Of("/var/cache/apt/pkgcache.bin"), Group::kPackages);
  EXPECT_EQ(Of("/var/cache/man/x"), Group::kCaches);
  EXPECT_EQ(Of("/var/log/syslog"), Group::kLogs);
  EXPECT_EQ(Of("/tmp/x"), Group::kTemporary);
  EXPECT_EQ(Of("/var/tmp/x"), Group::kTemporary);
  EXPECT_EQ(Of("/usr/bin/env"), Group::kSystem);
  EXPECT_EQ(Of("/usr/lib/python3/__pycache__/x.pyc"), Group::kCaches);
  EXPECT_EQ(Of("/home/other/.cache/x"), Group::kSystem);
  EXPECT_EQ(Of("/home/user/x"), Group::kSystem);
  EXPECT_EQ(Of("/"), Group::kSystem);
}

TEST(Noise, ProjectWinsExceptForItsOwnCaches) {
  for (const char* project : {"/tmp/app", "/var/cache/app", "/home/u/.cache/app", "/var/log/app",
                              "/home/u/x/__pycache__/app", "/tmp"}) {
    const std::string inside = project;
    EXPECT_EQ(Classify(inside, project, kHomeOfU), Group::kReal) << project;
    EXPECT_EQ(Classify(inside + "/src/x", project, kHomeOfU), Group::kReal) << project;
    EXPECT_EQ(Classify(inside + "/tmp/x", project, kHomeOfU), Group::kReal) << project;
    EXPECT_EQ(Classify(inside + "/a/__pycache__/x.pyc", project, kHomeOfU), Group::kCaches);
    EXPECT_EQ(Classify(inside + "/.pytest_cache", project, kHomeOfU), Group::kCaches);
    EXPECT_EQ(Classify(inside + "/node_modules/.cache/x", project, kHomeOfU), Group::kCaches);
    EXPECT_EQ(Classify(inside + "/node_modules/x/index.js", project, kHomeOfU), Group::kReal);
    EXPECT_EQ(Classify(inside + "/my__pycache__/x", project, kHomeOfU), Group::kReal);
  }
  EXPECT_EQ(Classify("/tmp/appendix", "/tmp/app", kHomeOfU), Group::kTemporary);
}

TEST(Noise, RowsBelowTheProjectApply) {
  EXPECT_EQ(Classify("/home/u/.cache/x", kHomeOfU, kHomeOfU), Group::kCaches);
  EXPECT_EQ(Classify("/home/u/notes", kHomeOfU, kHomeOfU), Group::kReal);
  EXPECT_EQ(Classify("/var/log/x", "/", kHomeOfU), Group::kLogs);
  EXPECT_EQ(Classify("/etc/passwd", "/", kHomeOfU), Group::kReal);
  EXPECT_EQ(Classify("/home/u/.bash_history", "/home", kHomeOfU), Group::kHistory);
}

TEST(Noise, HomeMayLieAnywhereOrBeMissing) {
  EXPECT_EQ(Classify("/tmp/h/.bashrc", "", "/tmp/h"), Group::kReal);
  EXPECT_EQ(Classify("/tmp/h/.cache/x", "", "/tmp/h"), Group::kCaches);
  EXPECT_EQ(Classify("/home/u/.bashrc", "", ""), Group::kSystem);
  EXPECT_EQ(Classify("/.bash_history", "", "/"), Group::kHistory);
  EXPECT_EQ(Classify("/tmp/x", "", "/"), Group::kTemporary);
}

TEST(Noise, BuildObjectsAreCaches) {
  for (const char* path : {"/p/a.o", "/p/src/lib.a", "/p/a.lo", "/p/x/a.obj"})
    EXPECT_EQ(Classify(path, "/p", "/h"), Group::kCaches) << path;
  EXPECT_EQ(Classify("/p/a.c", "/p", "/h"), Group::kReal);
  EXPECT_EQ(Classify("/p/.o", "/p", "/h"), Group::kReal);
  EXPECT_EQ(Classify("/p/x.o/a.c", "/p", "/h"), Group::kReal);
  EXPECT_EQ(Classify("/p/a.o", "/p/a.o", "/h"), Group::kReal) << "by its own name";
}

TEST(NoiseTable, EveryRowIsReachedAndSaysWhy) {
  for (const NoiseRow& row : NoiseTable()) {
    EXPECT_FALSE(row.why.empty()) << row.path;
    const std::string path(row.path);
    const std::string full = row.place == Place::kRoot   ? path
                             : row.place == Place::kHome ? "/home/u/" + path
                                                         : "/srv/deep/" + path;
    EXPECT_TRUE(IsCleanPath(full)) << full;
    for (const std::string& one : {full, full + "/x"}) EXPECT_EQ(Of(one), row.group) << one;
    // No other row covers it: each row is needed.
    for (const NoiseRow& other : NoiseTable()) {
      if (&other == &row || other.place != row.place || other.group != row.group) continue;
      EXPECT_FALSE(path.starts_with(std::string(other.path) + "/")) << path << " " << other.path;
    }
  }
}

}  // namespace
}  // namespace cloche::change
