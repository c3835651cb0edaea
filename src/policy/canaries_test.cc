#include "policy/canaries.h"

#include <gtest/gtest.h>

#include <set>

#include "policy/request.h"

namespace cloche {
namespace {

std::string Random(char seed) {
  std::string random(kDecoyRandom, '\0');
  uint32_t state = static_cast<unsigned char>(seed);
  for (char& c : random) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return random;
}

TEST(Canaries, EachSandboxHasItsOwn) {
  const auto one = MakeDecoys(Random(1)), other = MakeDecoys(Random(2));
  std::set<std::string> marks;
  for (const auto& decoys : {one, other})
    for (const Decoy& each : decoys) {
      EXPECT_GE(MarkOf(each).size(), 20u) << each.kind;
      EXPECT_TRUE(marks.insert(MarkOf(each)).second) << each.kind;
    }
  EXPECT_EQ(one, MakeDecoys(Random(1)));
}

TEST(Canaries, EveryDecoyStandsInAFileAsItIsLookedFor) {
  const auto decoys = MakeDecoys(Random(3));
  const auto files = DecoyFiles(decoys);
  for (const Decoy& decoy : decoys) {
    const bool there = std::ranges::any_of(files, [&](const DecoyFile& file) {
      // The scanner looks for the first 24 bytes, so they must be on one line.
      return file.content.find(MarkOf(decoy).substr(0, 24)) != std::string::npos;
    });
    EXPECT_TRUE(there) << decoy.kind;
  }
}

// The marks of two keys have nothing in common: a mark lies in the secret half alone.
TEST(Canaries, TheMarkOfAKeyIsItsSecret) {
  std::string random = Random(4);
  const std::string mark = MarkOf(MakeDecoys(random)[2]);
  random[56 + 32] ^= 1;  // the first byte of the seed
  EXPECT_EQ(MarkOf(MakeDecoys(random)[2]), mark) << "one digit before the mark";
  random[56 + 33] ^= 1;
  EXPECT_NE(MarkOf(MakeDecoys(random)[2]), mark);
  random = Random(4);
  for (size_t i = 56; i < 56 + 32; ++i) random[i] ^= 1;  // its public half
  EXPECT_EQ(MarkOf(MakeDecoys(random)[2]), mark);
}

TEST(Canaries, ARequestAsksAndARecordRemembers) {
  EXPECT_TRUE(ParseSandboxRequest({{"canaries", true}})->canaries.wanted);
  EXPECT_FALSE(ParseSandboxRequest({{"canaries", false}})->canaries.wanted);
  CanaryRequest made{true, MakeDecoys(Random(5))};
  const auto read = ParseSandboxRequest({{"canaries", CanariesToJson(made)}});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->canaries, made);
  for (const nlohmann::json& bad :
       {nlohmann::json("yes"), nlohmann::json(1), nlohmann::json::array(),
        nlohmann::json::array({{{"kind", "npm-token"}, {"value", "short"}}})})
    EXPECT_FALSE(ParseSandboxRequest({{"canaries", bad}})) << bad;
  EXPECT_FALSE(ParseSandboxRequest({{"canaries", true}, {"base", "dir:/srv/x"}}));
}

}  // namespace
}  // namespace cloche
