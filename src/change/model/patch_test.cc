#include "change/model/patch.h"

#include <gtest/gtest.h>

#include <charconv>
#include <random>
#include <string>
#include <vector>

namespace cloche::change {
namespace {

using namespace std::string_literals;

Side File(std::string_view content, uint32_t mode = 0644) {
  return {.type = FileType::kFile, .mode = mode, .size = content.size(), .sha256 = HashOf(content)};
}

Side Link(std::string target) {
  return {.type = FileType::kSymlink, .mode = 0777, .target = std::move(target)};
}

std::string PatchOf(const Change& change, std::string_view old_content = "",
                    std::string_view new_content = "", const PatchOptions& options = {}) {
  std::string text;
  const PatchResult result =
      WritePatch(change, old_content, new_content, options, [&text](std::string_view piece) {
        text += piece;
        return true;
      });
  EXPECT_EQ(result == PatchResult::kWritten, !text.empty());
  return text;
}

Change Modified(std::string path, std::string_view from, std::string_view to) {
  Change change{.path = std::move(path), .old_side = File(from), .new_side = File(to)};
  change.differs.content = from != to;
  return change;
}

// Applies the hunks of one patch and checks every number and context line.
class Applier {
 public:
  Applier(std::string_view patch, std::string_view old_text) : patch_(patch), old_(old_text) {}

  std::string Apply() {
    while (!patch_.empty() && !patch_.starts_with("@@ ")) Line();
    while (!patch_.empty()) Hunk();
    result_ += old_;
    return result_;
  }

 private:
  std::string_view Line() {
    const size_t end = patch_.find('\n');
    EXPECT_NE(end, std::string_view::npos) << "patch ends within a line";
    const std::string_view line = patch_.substr(0, end == std::string_view::npos ? end : end + 1);
    patch_.remove_prefix(line.size());
    return line;
  }

  size_t Number(std::string_view& text) {
    size_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    EXPECT_EQ(error, std::errc());
    text.remove_prefix(static_cast<size_t>(stop - text.data()));
    return number;
  }

  std::pair<size_t, size_t> Range(std::string_view& text) {
    const size_t start = Number(text);
    if (!text.starts_with(',')) return {start, 1};
    text.remove_prefix(1);
    return {start, Number(text)};
  }

  void Hunk() {
    std::string_view head = Line();
    ASSERT_TRUE(head.starts_with("@@ -")) << head;
    head.remove_prefix(4);
    auto [old_start, old_count] = Range(head);
    ASSERT_TRUE(head.starts_with(" +")) << head;
    head.remove_prefix(2);
    auto [new_start, new_count] = Range(head);
    EXPECT_EQ(head, " @@\n");
    while (old_line_ + (old_count == 0 ? 0 : 1) < old_start) result_ += TakeOld(), ++new_line_;
    EXPECT_EQ(new_line_ + (new_count == 0 ? 0 : 1), new_start);
    while (old_count + new_count > 0) {
      std::string line(Line());
      ASSERT_FALSE(line.empty());
      if (patch_.starts_with("\\ ")) {
        Line();
        line.pop_back();
      }
      const char mark = line[0];
      const std::string text = line.substr(1);
      if (mark != '+') {
        ASSERT_EQ(TakeOld(), text);
        --old_count;
      }
      if (mark != '-') {
        result_ += text;
        ++new_line_;
        --new_count;
      }
    }
  }

  std::string TakeOld() {
    if (old_.empty()) return "(beyond the end)";
    const size_t end = std::min(old_.find('\n'), old_.size() - 1) + 1;
    const std::string line(old_.substr(0, end));
    old_.remove_prefix(end);
    ++old_line_;
    return line;
  }

  std::string_view patch_;
  std::string_view old_;
  std::string result_;
  size_t old_line_ = 0;
  size_t new_line_ = 0;
};

TEST(Patch, ApplyingItGivesTheNewText) {
  std::mt19937 random(4);
  const std::vector<std::string> kinds = {"a",
                                          "b",
                                          "",
                                          " ",
                                          "-x",
                                          "+y",
                                          "@@ -1 +1 @@",
                                          "\\ No newline at end of file",
                                          "c\r",
                                          std::string(5000, 'z'),
                                          "\xff\xfe",
                                          "\x1b[2J"};
  const auto some_text = [&](size_t longest) {
    std::string text;
    for (size_t left = random() % (longest + 1); left > 0; --left) {
      text += kinds[random() % kinds.size()];
      if (left > 1 || random() % 3 != 0) text += '\n';
    }
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::string old_text = some_text(40);
    std::string new_text = old_text;
    if (random() % 4 == 0) {
      new_text = some_text(40);
    } else {
      for (size_t edits = random() % 4; edits > 0; --edits) {
        const size_t at = new_text.empty() ? 0 : random() % new_text.size();
        new_text.replace(at, random() % 30, some_text(2));
      }
    }
    const Change change = Modified("/x", old_text, new_text);
    const std::string patch =
        old_text == new_text
            ? ""
            : PatchOf(change, old_text, new_text, {.context = static_cast<uint32_t>(random() % 4)});
    ASSERT_EQ(Applier(patch, old_text).Apply(), new_text) << patch;
  }
}

TEST(Patch, LooksLikeGits) {
  EXPECT_EQ(PatchOf(Modified("/p/a", "1\n2\n3\n4\n5\n6", "1\n2\n3\n4\nfive\n6"), "1\n2\n3\n4\n5\n6",
                    "1\n2\n3\n4\nfive\n6", {.root = "/p"}),
            "diff --git a/a b/a\n"
            "--- a/a\n"
            "+++ b/a\n"
            "@@ -2,5 +2,5 @@\n"
            " 2\n 3\n 4\n-5\n+five\n 6\n\\ No newline at end of file\n");
  EXPECT_EQ(PatchOf({.path = "/p/n", .kind = ChangeKind::kAdded, .new_side = File("x\n", 0755)}, "",
                    "x\n"),
            "diff --git a/p/n b/p/n\nnew file mode 100755\n--- /dev/null\n+++ b/p/n\n"
            "@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(PatchOf({.path = "/n", .kind = ChangeKind::kDeleted, .old_side = File("x\ny\n")},
                    "x\ny\n", ""),
            "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n"
            "@@ -1,2 +0,0 @@\n-x\n-y\n");
  EXPECT_EQ(PatchOf({.path = "/n", .kind = ChangeKind::kAdded, .new_side = File("")}),
            "diff --git a/n b/n\nnew file mode 100644\n"
            "index 0000000000000000000000000000000000000000.."
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n");
  EXPECT_EQ(PatchOf({.path = "/l", .kind = ChangeKind::kAdded, .new_side = Link("to")}),
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n"
            "@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n");
  EXPECT_EQ(PatchOf({.path = "/a b/new",
                     .kind = ChangeKind::kRenamed,
                     .old_path = "/old",
                     .old_side = File("x", 0644),
                     .new_side = File("x", 0755)},
                    "x", "x"),
            "diff --git a/old \"b/a b/new\"\nold mode 100644\nnew mode 100755\n"
            "similarity index 100%\nrename from old\nrename to \"a b/new\"\n");
  EXPECT_EQ(PatchOf(Modified("/a b", "x\n", "y\n"), "x\n", "y\n"),
            "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-x\n+y\n");
  EXPECT_EQ(
      PatchOf({.path = "/p.png", .kind = ChangeKind::kAdded, .new_side = File("\0"s)}, "", "\0"s),
      "diff --git a/p.png b/p.png\nnew file mode 100644\n"
      "index 0000000000000000000000000000000000000000.."
      "f76dd238ade08917e6712764a16a22005a50573d\n"
      "GIT binary patch\nliteral 1\nLcmV+c0RH~~00962\n\n"
      "literal 0\nKcmV+b0RR6000031\n\n");
  const Change gone{.path = "/p/x",
                    .kind = ChangeKind::kTypeChanged,
                    .old_side = File("x\n"),
                    .new_side = Link("y")};
  EXPECT_EQ(PatchOf(gone, "x\n"),
            "diff --git a/p/x b/p/x\ndeleted file mode 100644\n--- a/p/x\n+++ /dev/null\n"
            "@@ -1 +0,0 @@\n-x\n"
            "diff --git a/p/x b/p/x\nnew file mode 120000\n--- /dev/null\n+++ b/p/x\n"
            "@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n");
}

TEST(Patch, NamesAreQuotedAsGitDoes) {
  EXPECT_EQ(GitQuote("plain-name.txt"), "plain-name.txt");
  EXPECT_EQ(GitQuote("a b'c$(d)"), "a b'c$(d)");
  EXPECT_EQ(GitQuote("t\tn\nq\"b\\"), R"("t\tn\nq\"b\\")");
  EXPECT_EQ(GitQuote("\x01\x7f\xc3\xa4"), R"("\001\177\303\244")");
  EXPECT_TRUE(PatchOf({.path = "/\xff", .kind = ChangeKind::kAdded, .new_side = File("")})
                  .starts_with("diff --git \"a/\\377\" \"b/\\377\"\nnew file mode 100644\n"));
}

TEST(Patch, ChangesThatGitCannotExpressAreLeftOut) {
  Change owner = Modified("/a", "x", "x");
  owner.new_side->uid = 5;
  EXPECT_EQ(PatchOf(owner, "x", "x"), "");
  const Side directory{.type = FileType::kDirectory, .mode = 0755};
  EXPECT_EQ(PatchOf({.path = "/d", .kind = ChangeKind::kAdded, .new_side = directory}), "");
  EXPECT_EQ(PatchOf({.path = "/.git/hooks/x", .kind = ChangeKind::kAdded, .new_side = File("")}),
            "");
  EXPECT_EQ(PatchOf({.path = "/a/.GiT", .kind = ChangeKind::kAdded, .new_side = File("")}), "");
  EXPECT_NE(PatchOf({.path = "/.gitignore", .kind = ChangeKind::kAdded, .new_side = File("")}), "");
  const Change outside{.path = "/project2/a", .kind = ChangeKind::kAdded, .new_side = File("")};
  EXPECT_EQ(PatchOf(outside, "", "", {.root = "/project"}), "");
  const Change root{.path = "/project", .kind = ChangeKind::kAdded, .new_side = File("")};
  EXPECT_EQ(PatchOf(root, "", "", {.root = "/project"}), "");
}

TEST(Patch, RenameAcrossTheRootIsAnAdditionOrADeletion) {
  Change change{.path = "/p/new",
                .kind = ChangeKind::kRenamed,
                .old_path = "/tmp/old",
                .old_side = File("x\n"),
                .new_side = File("x\n")};
  EXPECT_EQ(PatchOf(change, "x\n", "x\n", {.root = "/p"}).substr(0, 41),
            "diff --git a/new b/new\nnew file mode 1006");
  EXPECT_EQ(PatchOf(change, "x\n", "x\n", {.root = "/tmp"}).substr(0, 39),
            "diff --git a/old b/old\ndeleted file mod");
}

TEST(Patch, IsStreamedAndStopsWhenTheSinkDoes) {
  std::string old_text;
  std::string new_text;
  for (int i = 0; i < 100'000; ++i) {
    old_text += std::to_string(i) + "\n";
    new_text += std::to_string(i) + (i % 10 == 0 ? "!\n" : "\n");
  }
  size_t pieces = 0;
  size_t largest = 0;
  const Change change = Modified("/x", old_text, new_text);
  EXPECT_EQ(WritePatch(change, old_text, new_text, {},
                       [&](std::string_view piece) {
                         ++pieces;
                         largest = std::max(largest, piece.size());
                         return true;
                       }),
            PatchResult::kWritten);
  EXPECT_GT(pieces, 3u);
  EXPECT_LE(largest, 64u << 10);
  pieces = 0;
  EXPECT_EQ(
      WritePatch(change, old_text, new_text, {}, [&](std::string_view) { return ++pieces < 2; }),
      PatchResult::kStopped);
  EXPECT_EQ(pieces, 2u);
}

}  // namespace
}  // namespace cloche::change
