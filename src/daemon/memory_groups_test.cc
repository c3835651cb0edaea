#include "daemon/memory_groups.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cloche::daemon {
namespace {

class MemoryGroupsTest : public testing::Test {
 protected:
  MemoryGroupsTest() : top_(mkdtemp(path_)) {}
  ~MemoryGroupsTest() override { std::filesystem::remove_all(top_); }

  void Put(const std::string& file, const std::string& text) {
    const std::filesystem::path path = top_ + "/s1/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  MemoryGroups Groups(sys::CgroupVersion version) {
    sys::CgroupHost host;
    host.version = version;
    (version == sys::CgroupVersion::kV2 ? host.unified : host.memory) = top_;
    return MemoryGroups(host, "/s1");
  }

  char path_[32] = "/tmp/cloche-groups.XXXXXX";
  std::string top_;
};

TEST_F(MemoryGroupsTest, InitAloneDoesNotCountAsOthers) {
  const MemoryGroups groups = Groups(sys::CgroupVersion::kV1);
  Put("cgroup.procs", "812\n");
  EXPECT_FALSE(groups.HasOthers());
  Put("cgroup.procs", "812\n814\n");
  EXPECT_TRUE(groups.HasOthers());
}

TEST_F(MemoryGroupsTest, OnVersionOneEachGroupCountsItsOwnKills) {
  MemoryGroups groups = Groups(sys::CgroupVersion::kV1);
  EXPECT_EQ(groups.Kills(0, 2), 2);
  groups.Enter(2);
  Put("c1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_EQ(groups.current(), 1u);
  EXPECT_EQ(groups.Kills(1, 2), 1);
  EXPECT_EQ(groups.Kills(0, 2), 2);
  EXPECT_EQ(groups.PathInside(0), "/");
  EXPECT_EQ(groups.PathInside(1), "/c1");
}

TEST_F(MemoryGroupsTest, OnVersionTwoEarlierKillsStayWithTheFirstGroup) {
  MemoryGroups groups = Groups(sys::CgroupVersion::kV2);
  EXPECT_EQ(groups.Kills(0, 2), 2);
  groups.Enter(2);
  Put("c0/memory.events", "oom 1\noom_kill 1\n");
  Put("c1/memory.events", "oom 0\noom_kill 0\n");
  EXPECT_EQ(groups.Kills(0, 3), 3);
  EXPECT_EQ(groups.Kills(1, 3), 0);
  EXPECT_EQ(groups.PathInside(0), "/c0");
}

TEST_F(MemoryGroupsTest, RemovedGroupsAreForgottenWithTheNext) {
  MemoryGroups groups = Groups(sys::CgroupVersion::kV2);
  Put("c0/memory.events", "oom_kill 0\n");
  for (int i = 0; i < 100; ++i) groups.Enter(0);
  EXPECT_EQ(groups.all(), (std::set<uint32_t>{0, 100}));
  Put("c100/memory.events", "oom_kill 0\n");
  groups.Enter(0);
  EXPECT_EQ(groups.all(), (std::set<uint32_t>{0, 100, 101}));
}

TEST_F(MemoryGroupsTest, ARemovedGroupReportsThatItIsGone) {
  MemoryGroups groups = Groups(sys::CgroupVersion::kV2);
  groups.Enter(0);
  EXPECT_EQ(groups.Kills(1, 0), -1);
}

}  // namespace
}  // namespace cloche::daemon
