#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cloche::fuzz {

// The same numbers for the same seed, everywhere: a round that failed can be run again.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t Next();
  size_t Below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(Next() % bound); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  // Numbers that lie at an edge of something, more often than not.
  uint64_t Number();
  template <typename Container>
  auto& Pick(Container& from) {
    return from[Below(std::size(from))];
  }

 private:
  uint64_t state_;
};

// A few changes: bits, bytes, numbers, pieces removed, repeated or replaced by one of `words`.
std::string Mutate(Random& random, std::string bytes, std::span<const std::string_view> words);

// Ends the round, and the program, with a sentence.
void Require(bool holds, const std::string& promise, const std::string& evidence = "");

// No control characters and nothing that hides or reorders, written anew and not with the tables
// of base/text.cc.
bool IsHarmlessOnATerminal(std::string_view text, bool lines = false);

// One round each. True when the input was good enough to be accepted: a target that never is
// accepts nothing it could be judged by.
bool FuzzPlan(Random& random);
bool FuzzRequest(Random& random);
bool FuzzText(Random& random);
bool FuzzQuantity(Random& random);
bool FuzzFrames(Random& random);
bool FuzzMessages(Random& random);
bool FuzzSeccomp(Random& random);
bool FuzzCures(Random& random);
bool FuzzChanges(Random& random);
bool FuzzPatches(Random& random);
bool FuzzEgressDns(Random& random);
bool FuzzEgressHello(Random& random);
bool FuzzEgressCertificate(Random& random);
bool FuzzEgressRedact(Random& random);
bool FuzzEgressHttp(Random& random);
bool FuzzEgressSocks(Random& random);
bool FuzzEgressRule(Random& random);
bool FuzzEgressH2(Random& random);
bool FuzzEgressControl(Random& random);
bool FuzzEgressCanary(Random& random);
bool FuzzSign(Random& random);

}  // namespace cloche::fuzz
