#include "change/model/select.h"

#include <gtest/gtest.h>

#include <string_view>

namespace cloche::change {
namespace {

constexpr std::string_view kOld = "one\ntwo\nthree\nfour\nfive\nlast";
constexpr std::string_view kNew = "zero\none\ntwo\n3\nfour\nfive\nlast\n";

std::string Chosen(const std::vector<bool>& chosen) {
  return ApplyChosen(*DiffLines(kOld, kNew), chosen).value_or("refused");
}

TEST(ApplyChosen, AllBlocksGiveTheNewText) { EXPECT_EQ(Chosen({true, true, true}), kNew); }

TEST(ApplyChosen, NoBlockGivesTheOldText) { EXPECT_EQ(Chosen({false, false, false}), kOld); }

TEST(ApplyChosen, OneBlockLeavesTheOthersOld) {
  EXPECT_EQ(Chosen({true, false, false}), "zero\none\ntwo\nthree\nfour\nfive\nlast");
  EXPECT_EQ(Chosen({false, true, false}), "one\ntwo\n3\nfour\nfive\nlast");
  EXPECT_EQ(Chosen({false, false, true}), "one\ntwo\nthree\nfour\nfive\nlast\n");
}

TEST(ApplyChosen, TooFewOrTooManyChoicesAreRefused) {
  EXPECT_EQ(Chosen({true, true}), "refused");
  EXPECT_EQ(Chosen({true, true, true, true}), "refused");
}

TEST(ApplyChosen, EmptyTextsHaveNothingToChoose) {
  EXPECT_EQ(ApplyChosen(*DiffLines("", ""), {}).value_or("refused"), "");
  EXPECT_EQ(ApplyChosen(*DiffLines("", "a"), {true}).value_or("refused"), "a");
  EXPECT_EQ(ApplyChosen(*DiffLines("a", ""), {true}).value_or("refused"), "");
}

}  // namespace
}  // namespace cloche::change
