#include "change/model/summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/text.h"

namespace cloche::change {
namespace {

Change Lines(std::string path, uint64_t added, uint64_t removed) {
  Change change{.path = std::move(path), .old_side = Side{.size = 1}, .new_side = Side{.size = 10}};
  change.differs.content = true;
  change.lines = LineCounts{added, removed};
  return change;
}

Change Added(std::string path, Side side) {
  return {.path = std::move(path), .kind = ChangeKind::kAdded, .new_side = std::move(side)};
}

TEST(Summary, CountsPerGroup) {
  Summary summary;
  summary.Add(Lines("/p/a", 3, 1));
  Change gone{.path = "/p/b", .kind = ChangeKind::kDeleted, .old_side = Side{.size = 7}};
  gone.lines = LineCounts{0, 5};
  summary.Add(gone);
  Change cache = Added("/c", {.size = 100});
  cache.noise = "caches";
  summary.Add(cache);
  Change renamed = Lines("/new", 0, 0);
  renamed.kind = ChangeKind::kRenamed;
  renamed.differs = {};
  renamed.noise = "history";
  summary.Add(renamed);
  Change unknown = Lines("/x", 1, 0);
  unknown.noise = "unheard of";
  summary.Add(unknown);
  EXPECT_EQ(
      summary.Of(Group::kReal),
      (Counts{.modified = 2, .deleted = 1, .lines_added = 4, .lines_removed = 6, .bytes = 20}));
  EXPECT_EQ(summary.Of(Group::kCaches), (Counts{.added = 1, .bytes = 100}));
  EXPECT_EQ(summary.Of(Group::kHistory), (Counts{.renamed = 1}));
  EXPECT_EQ(summary.Of(Group::kSystem), Counts{});
  EXPECT_EQ(summary.Total().Changes(), 5u);
  EXPECT_EQ(summary.Total().bytes, 120u);
}

TEST(Summary, HugeCountsDoNotWrap) {
  Summary summary;
  for (int i = 0; i < 2; ++i) summary.Add(Lines("/a", std::numeric_limits<uint64_t>::max() - 1, 1));
  EXPECT_EQ(summary.Total().lines_added, std::numeric_limits<uint64_t>::max());
}

TEST(StatTable, LooksLikeGits) {
  StatTable table({.root = "/p", .width = 60});
  table.Add(Lines("/p/code/main.cc", 6, 2));
  table.Add(Lines("/p/a", 0, 1));
  Change binary = Added("/p/logo.png", {.size = 2000});
  binary.binary = true;
  table.Add(binary);
  table.Add(Added("/p/out", {.type = FileType::kDirectory, .mode = 0755}));
  table.Add(Added("/usr/bin/su2", {.mode = 04755, .size = 5}));
  Change mode = Lines("/p/run", 0, 0);
  mode.new_side->mode = 0755;
  mode.differs = {.mode = true};
  table.Add(mode);
  EXPECT_EQ(table.Render(),
            " code/main.cc                  | 8 ++++++--\n"
            " a                             | 1 -\n"
            " logo.png (new)                | Bin 0 -> 2000 bytes\n"
            " out (new directory)           | -\n"
            " /usr/bin/su2 (new, mode 4755) | 0 -> 5 bytes\n"
            " run (mode 0644 -> 0755)       | 0\n"
            " 6 files changed, 6 insertions(+), 3 deletions(-)\n");
}

TEST(StatTable, LinksShowWhereTheyLead) {
  StatTable table({.root = "/p", .width = 60});
  table.Add(Added("/p/hooks", {.type = FileType::kSymlink, .target = "../tools\x1b\u009b"}));
  Change link{.path = "/p/link",
              .old_side = Side{.type = FileType::kDirectory},
              .new_side = Side{.type = FileType::kSymlink, .target = "/etc"}};
  link.kind = ChangeKind::kTypeChanged;
  link.differs.type = true;
  table.Add(link);
  EXPECT_EQ(table.Render(),
            " hooks (new symlink)         | -> ../tools\\x1b\\u{009b}\n"
            " link (directory -> symlink) | -> /etc\n"
            " 2 files changed\n");
}

TEST(StatTable, FitsItsWidth) {
  for (const size_t width : {40u, 60u, 80u, 200u}) {
    StatTable table({.width = width});
    table.Add(Lines("/a", 1, 0));
    table.Add(Lines("/" + std::string(300, 'x') + "/some/file.cc", 900, 77));
    table.Add(Lines("/\xe6\xbc\xa2/" + std::string(50, '\xff'), 12345, 1));
    table.Add(Lines("/b", 1, 20000));
    const std::string text = table.Render();
    for (size_t start = 0; start < text.size();) {
      const size_t end = text.find('\n', start);
      const std::string line = text.substr(start, end - start);
      EXPECT_EQ(EscapeForTerminal(line), line);
      const bool is_total = end + 1 == text.size();
      EXPECT_TRUE(is_total || DisplayWidth(line) <= width) << line;
      start = end + 1;
    }
    EXPECT_NE(text.find(".../some/file.cc"), std::string::npos) << text;
    EXPECT_NE(text.find("| 20001 "), std::string::npos) << text;
  }
}

TEST(StatTable, EveryNonzeroPartIsVisible) {
  StatTable table({.width = 40, .colour = true});
  table.Add(Lines("/a", 1'000'000, 1));
  const std::string text = table.Render();
  EXPECT_NE(text.find("\x1b[32m+"), std::string::npos);
  EXPECT_NE(text.find("\x1b[31m-\x1b[0m\n"), std::string::npos);
  StatTable largest({.width = 40});
  largest.Add(Lines("/a", std::numeric_limits<uint64_t>::max(), 5));
  EXPECT_LT(largest.Render().size(), 200u);
}

TEST(StatTable, RowsAreBounded) {
  StatTable table({.rows = 2});
  EXPECT_EQ(table.Render(), "");
  for (int i = 0; i < 5; ++i) table.Add(Lines("/a", 1, 0));
  EXPECT_NE(table.Render().find(" ... and 3 more\n 5 files changed, 5 insertions(+)\n"),
            std::string::npos);
}

}  // namespace
}  // namespace cloche::change
