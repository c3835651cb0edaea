#include "change/apply/rights.h"

#include <gtest/gtest.h>

namespace cloche::apply {
namespace {

using change::FileType;
using change::Side;

Wish Of(uint32_t uid, bool root = false) {
  Wish wish;
  wish.uid = wish.gid = uid;
  wish.root = root;
  return wish;
}

std::vector<std::string> Lines(std::optional<Side> before, Side after, const Wish& wish) {
  change::Change change{
      .path = "/p/a", .old_side = std::move(before), .new_side = std::move(after)};
  std::vector<Alarm> alarms;
  FindRights(change, wish, alarms);
  if (alarms.empty()) return {};
  EXPECT_TRUE(alarms[0].alarm);
  EXPECT_EQ(alarms[0].kind, "rights");
  return alarms[0].effective;
}

// tag, permissions, id
std::string List(std::vector<std::array<uint32_t, 3>> entries) {
  std::string list("\x02\0\0\0", 4);
  for (const auto& [tag, permissions, id] : entries) {
    for (const uint32_t each : {tag, permissions})
      list += {static_cast<char>(each & 0xff), static_cast<char>(each >> 8)};
    for (int i = 0; i < 4; ++i) list += static_cast<char>(id >> (8 * i) & 0xff);
  }
  return list;
}

Side With(const char* attribute, std::string list) {
  Side side{.uid = 1000, .gid = 1000};
  side.xattrs[attribute] = std::move(list);
  return side;
}

TEST(Rights, NewWritePermissionForEverybodyIsAnAlarm) {
  using Found = std::vector<std::string>;
  const Found found = {"mode 0777: everybody may write to it"};
  EXPECT_EQ(Lines(Side{.mode = 0755}, Side{.mode = 0777}, Of(0)), found);
  EXPECT_EQ(Lines(std::nullopt, Side{.mode = 0777}, Of(0)), found);
  EXPECT_EQ(Lines(std::nullopt, Side{.type = FileType::kDirectory, .mode = 0777}, Of(0)), found);
  EXPECT_FALSE(
      Lines(std::nullopt, Side{.type = FileType::kDirectory, .mode = 01777}, Of(0)).empty());
  EXPECT_EQ(Lines(Side{.mode = 0666}, Side{.mode = 0777}, Of(0)), Found());
  EXPECT_EQ(Lines(std::nullopt, Side{.mode = 0664}, Of(0)), Found()) << "a umask of 002";
  EXPECT_EQ(Lines(std::nullopt, Side{.type = FileType::kSymlink, .mode = 0777}, Of(0)), Found());
  EXPECT_EQ(Lines(std::nullopt, Side{.type = FileType::kDirectory, .mode = 02775}, Of(0)), Found())
      << "it hands its group down, as the one it is in";
}

TEST(Rights, AnAclThatNamesSomebodyElseIsAnAlarm) {
  const char* const access = "system.posix_acl_access";
  const std::string mine =
      List({{1, 6, ~0u}, {2, 7, 1000}, {4, 4, ~0u}, {16, 7, ~0u}, {32, 4, ~0u}});
  const std::string theirs = List({{1, 6, ~0u}, {2, 7, 1001}, {4, 4, ~0u}, {16, 7, ~0u}});
  using Found = std::vector<std::string>;
  EXPECT_EQ(Lines(std::nullopt, With(access, mine), Of(1000)), Found());
  EXPECT_EQ(Lines(std::nullopt, With(access, theirs), Of(1000)), Found{"user 1001 may rwx"});
  EXPECT_EQ(Lines(With(access, mine), With(access, theirs), Of(1000)), Found{"user 1001 may rwx"});
  EXPECT_EQ(Lines(With(access, theirs), With(access, theirs), Of(1000)), Found());
  EXPECT_EQ(Lines(std::nullopt, With(access, List({{8, 4, 50}})), Of(1000)),
            Found{"group 50 may r--"});
  EXPECT_EQ(Lines(std::nullopt, With(access, List({{32, 6, ~0u}})), Of(1000)),
            Found{"everybody may rw-"});
  EXPECT_EQ(Lines(std::nullopt, With("system.posix_acl_default", theirs), Of(1000)),
            Found{"user 1001 may rwx (for what is made in it)"});
  EXPECT_FALSE(Lines(std::nullopt, With(access, "\x03"), Of(1000)).empty()) << "nobody can tell";
  EXPECT_FALSE(Lines(std::nullopt, With(access, theirs + "x"), Of(1000)).empty());
}

TEST(Rights, OnlyRootCanGiveFilesAwayAndThatIsAnAlarm) {
  using Found = std::vector<std::string>;
  EXPECT_EQ(Lines(Side{}, Side{.uid = 1000}, Of(0, true)), Found{"owner: user 1000"});
  EXPECT_EQ(Lines(std::nullopt, Side{.uid = 1000}, Of(0, true)), Found{"owner: user 1000"});
  EXPECT_EQ(Lines(std::nullopt, Side{.uid = 1000}, Of(1001)), Found());
  EXPECT_EQ(Lines(Side{.uid = 1000}, Side{}, Of(0, true)), Found());
  Wish in_theirs = Of(0, true);
  in_theirs.project_uid = 1000;
  EXPECT_EQ(Lines(std::nullopt, Side{.uid = 1000}, in_theirs), Found()) << "it is their project";
}

}  // namespace
}  // namespace cloche::apply
