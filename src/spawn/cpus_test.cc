#include "spawn/cpus.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>

namespace cloche::spawn {
namespace {

namespace fs = std::filesystem;

TEST(Cpus, NeighboursGetDifferentOnes) {
  const CpuSet first = Cpus::Choose(1, 0), second = Cpus::Choose(1, 1);
  if (first.all) GTEST_SKIP() << "there is one CPU";
  EXPECT_NE(first.list, second.list);
  EXPECT_NE(first.mask, second.mask);
}

TEST(Cpus, AskingForAllCpusGivesAllOfThem) {
  EXPECT_TRUE(Cpus::Choose(0, 3).all);
  EXPECT_TRUE(Cpus::Choose(1u << 20, 3).all);
}

TEST(Cpus, TheTreeHoldsOnlyTheListedFiles) {
  char path[] = "/tmp/cloche-cpus.XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  Cpus cpus(path);
  const auto tree = cpus.Tree();
  ASSERT_TRUE(tree);
  EXPECT_TRUE(fs::exists(*tree + "/online"));
  const std::set<std::string> known = {"online", "offline", "possible", "present", "kernel_max"};
  for (const auto& entry : fs::directory_iterator(*tree)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(known.contains(name) || name.starts_with("cpu")) << name;
  }
  for (const auto& entry : fs::recursive_directory_iterator(*tree))
    EXPECT_TRUE(entry.is_directory() || entry.is_regular_file()) << entry.path();
  fs::remove_all(path);
}

}  // namespace
}  // namespace cloche::spawn
