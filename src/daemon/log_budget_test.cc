#include "daemon/log_budget.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cloche::daemon {
namespace {

std::string Log(const std::string& name, size_t bytes) {
  std::string path = testing::TempDir() + "/log_budget_" + name;
  std::ofstream(path) << std::string(bytes, 'x');
  return path;
}

TEST(LogBudget, TheSameOwnersOldestLogsGoFirst) {
  LogBudget budget(100);
  const std::string others = Log("others", 90);
  budget.Add(2, others);
  const std::string one = Log("one", 60), two = Log("two", 40), three = Log("three", 30);
  budget.Add(1, one);
  budget.Add(1, two);
  EXPECT_TRUE(std::filesystem::exists(one));
  std::ifstream held(one);
  budget.Add(1, three);
  EXPECT_FALSE(std::filesystem::exists(one));
  EXPECT_EQ(held.get(), std::ifstream::traits_type::eof()) << "no space is held by who reads it";
  for (const std::string& path : {two, three, others}) {
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
  }
}

TEST(LogBudget, TheNewestStays) {
  LogBudget budget(100);
  const std::string large = Log("large", 200);
  budget.Add(1, large);
  EXPECT_TRUE(std::filesystem::exists(large));
  std::filesystem::remove(large);
}

}  // namespace
}  // namespace cloche::daemon
