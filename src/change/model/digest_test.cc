#include "change/model/digest.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cloche::change {
namespace {

Side File(std::string_view content) {
  return {.type = FileType::kFile, .mode = 0644, .size = content.size(), .sha256 = HashOf(content)};
}

Change Base() {
  Change change{.path = "/p/a", .old_side = File("a"), .new_side = File("b")};
  change.old_side->xattrs["user.a"] = "1";
  change.new_side->xattrs["user.a"] = "1";
  change.differs.content = true;
  return change;
}

std::string DigestOf(const std::vector<Change>& changes) {
  ChangeSetDigest digest;
  for (Change change : changes) {
    if (change.old_side && change.new_side)
      change.differs = Compare(*change.old_side, *change.new_side);
    const Status added = digest.Add(change);
    EXPECT_TRUE(added) << added.error().message;
  }
  return digest.Finish().value_or("");
}

TEST(ChangeSetDigest, IsTheDocumentedOne) {
  EXPECT_EQ(DigestOf({}),
            "sha256:e737dffe50920b634e2d518f2e0e498cdde3a953190ae9619b9a352ebc45bae0");
  EXPECT_EQ(DigestOf({Base()}),
            "sha256:9a7de71d45714599404528f9bf9a946103710beeacf2fe309a406634666cab51");
}

TEST(ChangeSetDigest, ChangesWithEverythingThatIsApplied) {
  const std::vector<std::function<void(Change&)>> edits = {
      [](Change&) {},
      [](Change& c) { c.path = "/p/b"; },
      [](Change& c) { c.kind = ChangeKind::kRenamed, c.old_path = "/p/o"; },
      [](Change& c) { c.kind = ChangeKind::kRenamed, c.old_path = "/p/q"; },
      [](Change& c) { c.kind = ChangeKind::kAdded, c.old_side.reset(), c.differs = {}; },
      [](Change& c) { c.kind = ChangeKind::kDeleted, c.new_side.reset(), c.differs = {}; },
      [](Change& c) { c.new_side = File("c"), c.new_side->xattrs["user.a"] = "1"; },
      [](Change& c) { c.new_side->mode = 0755; },
      [](Change& c) { c.new_side->uid = 1; },
      [](Change& c) { c.new_side->gid = 1; },
      [](Change& c) { c.new_side->size = 2; },
      [](Change& c) { c.new_side->xattrs["user.a"] = "2"; },
      [](Change& c) { c.new_side->xattrs.clear(), c.new_side->xattrs["user.a1"] = ""; },
      [](Change& c) { c.new_side->xattrs["user.b"] = "1"; },
      [](Change& c) { c.new_side->xattrs.clear(); },
      [](Change& c) { c.new_side->hard_link = 9; },
      [](Change& c) { c.old_side = File("c"), c.old_side->xattrs["user.a"] = "1"; },
      [](Change& c) { c.old_side->sha256.reset(); },
      [](Change& c) { c.old_side->mode = 0755; },
      [](Change& c) { c.old_side->uid = 1; },
      [](Change& c) { c.old_side->gid = 1; },
      [](Change& c) { c.old_side->size = 2; },
      [](Change& c) { c.old_side->xattrs.clear(); },
      [](Change& c) { c.old_side->hard_link = 9; },
  };
  std::set<std::string> seen;
  for (size_t i = 0; i < edits.size(); ++i) {
    Change change = Base();
    edits[i](change);
    EXPECT_TRUE(seen.insert(DigestOf({change})).second) << i;
  }
  // Types, targets and devices.
  const Side others[] = {
      {.type = FileType::kDirectory},
      {.type = FileType::kFifo},
      {.type = FileType::kSocket},
      {.type = FileType::kChar, .rdev_major = 1},
      {.type = FileType::kChar, .rdev_minor = 1},
      {.type = FileType::kBlock, .rdev_major = 1},
      {.type = FileType::kSymlink, .target = "a"},
      {.type = FileType::kSymlink, .target = "b"},
  };
  for (const Side& side : others) {
    EXPECT_TRUE(
        seen.insert(DigestOf({{.path = "/p/a", .kind = ChangeKind::kAdded, .new_side = side}}))
            .second);
    EXPECT_TRUE(
        seen.insert(DigestOf({{.path = "/p/a", .kind = ChangeKind::kDeleted, .old_side = side}}))
            .second);
  }
  Change other = Base();
  other.path = "/p/b";
  EXPECT_TRUE(seen.insert(DigestOf({Base(), other})).second);
}

TEST(ChangeSetDigest, IsTheSameHoweverItIsShown) {
  Change shown = Base();
  shown.noise = "caches";
  shown.binary = true;
  EXPECT_EQ(DigestOf({shown}), DigestOf({Base()}));
  shown.binary = false;
  shown.lines = LineCounts{1, 2};
  EXPECT_EQ(DigestOf({shown}), DigestOf({Base()}));
}

TEST(ChangeSetDigest, HardLinksCountByWhichNamesAreLinked) {
  const auto linked = [](uint64_t a, uint64_t b, uint64_t c) {
    std::vector<Change> changes;
    uint64_t groups[] = {a, b, c};
    for (size_t i = 0; i < 3; ++i) {
      Change change = Base();
      change.path += std::to_string(i);
      change.new_side->hard_link = groups[i];
      changes.push_back(change);
    }
    return DigestOf(changes);
  };
  EXPECT_EQ(linked(1, 1, 2), linked(900, 900, 3));
  EXPECT_EQ(linked(1, 2, 1), linked(2, 1, 2));
  EXPECT_NE(linked(1, 1, 2), linked(1, 2, 2));
  EXPECT_NE(linked(1, 1, 2), linked(1, 1, 1));
}

TEST(ChangeSetDigest, PathsAreInByteOrderAndUnique) {
  const auto accepts = [](std::string_view first, std::string_view second) {
    ChangeSetDigest digest;
    Change change = Base();
    change.path = first;
    EXPECT_TRUE(digest.Add(change));
    change.path = second;
    const bool accepted = digest.Add(change).has_value();
    EXPECT_EQ(digest.Finish().has_value(), accepted);
    return accepted;
  };
  EXPECT_TRUE(accepts("/a", "/b"));
  EXPECT_TRUE(accepts("/a-b", "/a/b"));
  EXPECT_TRUE(accepts("/a", "/\xff"));
  EXPECT_FALSE(accepts("/\xff", "/a"));
  EXPECT_FALSE(accepts("/a", "/a"));
  EXPECT_FALSE(accepts("/a/b", "/a-b"));
}

TEST(ChangeSetDigest, NewFileWithoutHashIsRefusedForGood) {
  ChangeSetDigest digest;
  Change change = Base();
  change.new_side->sha256.reset();
  EXPECT_FALSE(digest.Add(change));
  EXPECT_FALSE(digest.Add(Base()));
  EXPECT_FALSE(digest.Finish());
}

}  // namespace
}  // namespace cloche::change
