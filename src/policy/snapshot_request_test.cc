#include "policy/snapshot_request.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

using nlohmann::json;

TEST(SnapshotRequest, NameAndNoteAreOptional) {
  ASSERT_TRUE(ParseSnapshotRequest(json::object()));
  const auto named = ParseSnapshotRequest({{"name", "before-test"}, {"note", "ü: all green"}});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->name, "before-test");
  EXPECT_EQ(named->note, "ü: all green");
}

TEST(SnapshotRequest, HostileNamesAreRefused) {
  for (const char* name : {"a/b", "..", "sn_x", "A", "1a", "a b", "a\nb", "a\x1b[31m", "ü", "-a"})
    EXPECT_EQ(ParseSnapshotRequest({{"name", name}}).error().code, Code::kInvalid) << name;
  EXPECT_FALSE(ParseSnapshotRequest({{"name", std::string(64, 'a')}}));
  EXPECT_TRUE(ParseSnapshotRequest({{"name", std::string(63, 'a')}}));
}

TEST(SnapshotRequest, ANoteIsOneLineOfText) {
  EXPECT_FALSE(ParseSnapshotRequest({{"note", "a\nb"}}));
  EXPECT_FALSE(ParseSnapshotRequest({{"note", "a\x7f"}}));
  EXPECT_FALSE(ParseSnapshotRequest({{"note", std::string(1001, 'a')}}));
}

TEST(SnapshotRequest, UnknownFieldsAndOtherTypesAreRefused) {
  EXPECT_FALSE(ParseSnapshotRequest({{"nmae", "x"}}));
  EXPECT_FALSE(ParseSnapshotRequest({{"name", 7}}));
  EXPECT_FALSE(ParseSnapshotRequest(json::array()));
  EXPECT_FALSE(ParseRollbackRequest({{"snapshot", json::array()}}));
  EXPECT_FALSE(ParseForkRequest({{"count", "two"}}));
}

TEST(RollbackRequest, IsToASnapshotOrBeforeACommandNotBoth) {
  EXPECT_TRUE(ParseRollbackRequest(json::object()));
  EXPECT_TRUE(ParseRollbackRequest({{"undo_command", true}}));
  EXPECT_FALSE(ParseRollbackRequest({{"undo_command", true}, {"snapshot", "x"}}));
}

TEST(ForkRequest, CountsItsNames) {
  EXPECT_EQ(ParseForkRequest(json::object())->count, 1u);
  EXPECT_EQ(ParseForkRequest({{"names", {"a", "b"}}})->count, 2u);
  EXPECT_EQ(ParseForkRequest({{"count", 1000}})->count, 1000u);
  EXPECT_FALSE(ParseForkRequest({{"count", 0}}));
  EXPECT_FALSE(ParseForkRequest({{"count", 1001}}));
  EXPECT_FALSE(ParseForkRequest({{"count", 3}, {"names", {"a", "b"}}}));
  EXPECT_FALSE(ParseForkRequest({{"names", {"a", "a"}}}));
  EXPECT_FALSE(ParseForkRequest({{"names", {"a/b"}}}));
}

TEST(ForkRequest, ItsLimitsAreChecked) {
  EXPECT_EQ(ParseForkRequest({{"limits", {{"pids", 10}}}})->limits.pids, 10u);
  EXPECT_FALSE(ParseForkRequest({{"limits", {{"pids", 1}}}}));
  EXPECT_FALSE(ParseForkRequest({{"limits", {{"pdis", 10}}}}));
}

Limits Held() { return {.cpu = 2, .memory = 1 << 30, .pids = 100, .wall = 60, .commands = 0}; }

TEST(WithinLimits, InheritsOmittedLimitsFromTheParent) {
  const auto same = WithinLimits({}, Held());
  ASSERT_TRUE(same);
  EXPECT_EQ(same->pids, 100u);
  EXPECT_EQ(same->memory, 1u << 30);
}

TEST(WithinLimits, SmallerIsGivenLargerIsDenied) {
  EXPECT_EQ(WithinLimits({.pids = 99}, Held())->pids, 99u);
  EXPECT_EQ(WithinLimits({.pids = 100}, Held())->pids, 100u);
  EXPECT_EQ(WithinLimits({.pids = 101}, Held()).error().code, Code::kDenied);
  EXPECT_EQ(WithinLimits({.cpu = 2.5}, Held()).error().code, Code::kDenied);
}

TEST(WithinLimits, NoLimitIsMoreThanAnyLimit) {
  EXPECT_FALSE(WithinLimits({.wall = 0}, Held()));
  EXPECT_EQ(WithinLimits({.commands = 5}, Held())->commands, 5u);
  EXPECT_EQ(WithinLimits({.commands = 0}, Held())->commands, 0u);
}

TEST(WithinLimits, OneThatIsTooLargeRefusesAll) {
  EXPECT_FALSE(WithinLimits({.cpu = 1, .pids = 101}, Held()));
}

}  // namespace
}  // namespace cloche
