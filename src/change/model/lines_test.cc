#include "change/model/lines.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace cloche::change {
namespace {

// Applies the blocks to the old text, and checks that they are in order, apart, and between equal
// lines.
std::string Applied(const LineDiff& diff) {
  std::string text;
  size_t old_line = 0;
  size_t new_line = 0;
  bool first = true;
  for (const Block& block : diff.blocks) {
    EXPECT_TRUE(first || block.old_first > old_line) << "blocks touch";
    EXPECT_TRUE(block.old_count + block.new_count > 0);
    EXPECT_EQ(block.old_first - old_line, block.new_first - new_line);
    text += diff.old_lines.Range(old_line, block.old_first);
    text += diff.new_lines.Range(block.new_first, block.new_first + block.new_count);
    old_line = block.old_first + block.old_count;
    new_line = block.new_first + block.new_count;
    first = false;
  }
  text += diff.old_lines.Range(old_line, diff.old_lines.size());
  return text;
}

std::string Lines(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += std::to_string(number) + "\n";
  return text;
}

// The minimum number of added and removed lines, by the textbook table.
size_t FewestEdits(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<size_t>> common(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j)
      common[i][j] = a[i - 1] == b[j - 1] ? common[i - 1][j - 1] + 1
                                          : std::max(common[i - 1][j], common[i][j - 1]);
  return a.size() + b.size() - 2 * common[a.size()][b.size()];
}

TEST(DiffLines, IsRightAndShortestForRandomTexts) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const auto some = [&random] {
      std::vector<int> numbers(random() % 30);
      const unsigned kinds = 1 + static_cast<unsigned>(random() % 6);
      for (int& number : numbers) number = static_cast<int>(random() % kinds);
      return numbers;
    };
    const std::vector<int> a = some();
    const std::vector<int> b = some();
    const std::string old_text = Lines(a);
    const std::string new_text = Lines(b);
    const auto diff = DiffLines(old_text, new_text);
    ASSERT_TRUE(diff);
    ASSERT_EQ(Applied(*diff), new_text) << old_text << "--\n" << new_text;
    ASSERT_EQ(diff->added + diff->removed, FewestEdits(a, b)) << old_text << "--\n" << new_text;
    ASSERT_TRUE(diff->shortest);
  }
}

TEST(DiffLines, StaysRightWhenTheWorkRunsOut) {
  std::mt19937 random(2);
  size_t hurried = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<int> a(2000);
    for (int& number : a) number = static_cast<int>(random() % 50);
    std::vector<int> b = a;
    for (int& number : b)
      if (random() % 3 == 0) number = static_cast<int>(random() % 50);
    const std::string old_text = Lines(a);
    const std::string new_text = Lines(b);
    const auto diff = DiffLines(old_text, new_text, {.work = random() % 300'000});
    ASSERT_TRUE(diff);
    ASSERT_EQ(Applied(*diff), new_text);
    hurried += diff->shortest ? 0 : 1;
  }
  EXPECT_GT(hurried, 0u);
}

TEST(DiffLines, ManyDifferencesKeepCommonLines) {
  std::mt19937 random(3);
  std::vector<int> a(20'000);
  for (int& number : a) number = static_cast<int>(random() % 500);
  std::vector<int> b = a;
  for (size_t i = 0; i < b.size(); i += 4) b[i] = static_cast<int>(random() % 500);
  const std::string old_text = Lines(a);
  const std::string new_text = Lines(b);
  const auto diff = DiffLines(old_text, new_text);
  ASSERT_TRUE(diff);
  EXPECT_EQ(Applied(*diff), new_text);
  EXPECT_LT(diff->added, 6'000u);
}

TEST(DiffLines, ComparesWithAnEmptyText) {
  for (const auto& [old_text, new_text, removed, added] :
       std::vector<std::tuple<std::string, std::string, size_t, size_t>>{
           {"", "", 0, 0},
           {"", "a\nb", 0, 2},
           {"a\nb\n", "", 2, 0},
           {"a", "a\n", 1, 1},
           {"\n\n\n", "\n", 2, 0},
           {"a\r\nb\r\n", "a\nb\n", 2, 2},
           {std::string("a\0b\n", 4), std::string("a\0c\n", 4), 1, 1}}) {
    const auto diff = DiffLines(old_text, new_text);
    ASSERT_TRUE(diff);
    EXPECT_EQ(diff->removed, removed) << old_text;
    EXPECT_EQ(diff->added, added) << old_text;
    EXPECT_EQ(Applied(*diff), new_text);
  }
}

TEST(DiffLines, InsertedFunctionBeginsAtItsFirstLine) {
  const std::string old_text = "void a() {\n  x();\n}\n\nvoid c() {\n  z();\n}\n";
  const std::string new_text =
      "void a() {\n  x();\n}\n\nvoid b() {\n  y();\n}\n\nvoid c() {\n  z();\n}\n";
  const auto diff = DiffLines(old_text, new_text);
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->blocks, (std::vector<Block>{{4, 0, 4, 4}}));
  const auto back = DiffLines(new_text, old_text);
  EXPECT_EQ(back->blocks, (std::vector<Block>{{4, 4, 4, 0}}));
  // Both comments begin with the same line: it belongs to the new one.
  const std::string commented = "/**\n * x\n */\nx();\n";
  const std::string two = "/**\n * w\n */\nw();\n" + commented;
  EXPECT_EQ(DiffLines(commented, two)->blocks, (std::vector<Block>{{0, 0, 0, 4}}));
  EXPECT_EQ(DiffLines(two, commented)->blocks, (std::vector<Block>{{0, 4, 0, 0}}));
}

TEST(DiffLines, TextsBeyondTheBoundsAreNotCompared) {
  EXPECT_FALSE(DiffLines("a\nb\nc\n", "", {.lines = 3}));
  EXPECT_TRUE(DiffLines("a\nb\nc\n", "", {.lines = 4}));
  EXPECT_FALSE(DiffLines("", "abcd", {.bytes = 3}));
}

TEST(IsBinary, LooksForANulInTheFirst8000Bytes) {
  EXPECT_FALSE(IsBinary(""));
  EXPECT_FALSE(IsBinary("\xff\xfe text"));
  EXPECT_TRUE(IsBinary(std::string(1, '\0')));
  EXPECT_TRUE(IsBinary(std::string(7999, 'x') + '\0'));
  EXPECT_FALSE(IsBinary(std::string(8000, 'x') + '\0'));
}

}  // namespace
}  // namespace cloche::change
