#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "change/rules/glob.h"
#include "change/rules/triggers.h"

namespace cloche::rules {
namespace {

const std::string kPath = std::string(CLOCHE_SOURCE_DIR) + "/docs/triggers.md";
constexpr std::string_view kBegin = "<!-- the table of src/change/rules/trigger_table_*.cc -->\n";
constexpr std::string_view kEnd = "<!-- end of the table -->\n";

std::string InTicks(std::string_view words) {
  std::string text;
  AnyWord(words, [&](std::string_view word) {
    text += fmt::format("{}`{}`", text.empty() ? "" : " ", word);
    return false;
  });
  return text;
}

std::string Table() {
  std::string text = "| class | why | files | alarm | source |\n| --- | --- | --- | --- | --- |\n";
  for (const TriggerClass& each : TriggerTable())
    text += fmt::format("| {} | {} | {} | {}{} | {} |\n", each.id, each.reason, InTicks(each.globs),
                        JudgeText(each.judge), each.keys.empty() ? "" : ": " + InTicks(each.keys),
                        each.source);
  return text;
}

TEST(TriggersDocument, HoldsTheTable) {
  std::ifstream file(kPath);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = text.find(kBegin);
  const size_t end = text.find(kEnd);
  ASSERT_NE(begin, text.npos) << kPath;
  ASSERT_NE(end, text.npos) << kPath;
  const std::string before = text.substr(0, begin + kBegin.size());
  if (std::getenv("CLOCHE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kPath) << before << Table() << text.substr(end);
    return;
  }
  EXPECT_EQ(text.substr(before.size(), end - before.size()), Table())
      << "CLOCHE_UPDATE_GOLDEN=1 writes it anew";
}

TEST(TriggerTable, IdsAreUniqueAndReasonsAreSentences) {
  std::set<std::string_view> ids;
  for (const TriggerClass& each : TriggerTable()) {
    EXPECT_TRUE(ids.insert(each.id).second) << each.id;
    EXPECT_TRUE(each.reason.ends_with('.')) << each.id;
    EXPECT_FALSE(each.source.empty()) << each.id << ": where is that written?";
    // Only files that other files name have no names of their own.
    EXPECT_EQ(each.globs.empty(), each.id == "named-script") << each.id;
    EXPECT_EQ(each.judge == Judge::kKeys, !each.keys.empty()) << each.id;
    EXPECT_EQ(each.judge == Judge::kKeys, each.format != Format::kNone) << each.id;
    EXPECT_FALSE(JudgeText(each.judge).empty()) << each.id;
  }
}

}  // namespace
}  // namespace cloche::rules
