#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::egress {

// A decoy credential of a sandbox: nobody has a reason to send it.
struct Canary {
  std::string name;  // "aws-secret-key"
  std::string value;
  bool operator==(const Canary&) const = default;
};

inline constexpr size_t kLeastCanary = 16;  // shorter ones would be met by chance
inline constexpr size_t kMostCanaries = 32;

// The spelling in which a decoy was found. CanaryHit says whether it was also percent-encoded or
// compressed.
enum class CanaryForm : uint8_t { kPlain, kLowerCase, kBase64, kHex };

// All spellings of a sandbox's decoys as one automaton (Aho-Corasick): each byte costs one step,
// however many there are. Blanks, line breaks and colons do not change the state. A spelling covers
// the first kSpelled bytes of a value: a part of a decoy is found too, and found before the rest
// has left.
class CanarySet {
 public:
  static Result<std::shared_ptr<CanarySet>> Make(const std::vector<Canary>& canaries);

  using State = uint16_t;
  static constexpr State kStart = 0;
  State Step(State state, uint8_t byte) const { return next_[state * classes_ + class_of_[byte]]; }
  // 0: nothing ends here; else which spelling, for NameOf and FormOf.
  uint16_t FoundAt(State state) const { return found_[state]; }
  const std::string& NameOf(uint16_t found) const { return names_[spellings_[found].canary]; }
  CanaryForm FormOf(uint16_t found) const { return spellings_[found].form; }

  // Inflaters at work for all connections of the sandbox together.
  mutable size_t inflating = 0;

 private:
  struct Spelling {
    std::string text;
    size_t canary = 0;
    CanaryForm form = CanaryForm::kPlain;
  };
  void Spell(size_t canary, std::string_view value);
  void Add(std::string text, size_t canary, CanaryForm form);
  void Build();

  std::vector<std::string> names_;
  std::vector<Spelling> spellings_ = {{}};  // the first is none
  uint8_t class_of_[256] = {};              // bytes of no spelling are all alike
  size_t classes_ = 1;
  std::vector<State> next_;  // by state and class
  std::vector<uint16_t> found_;
};

}  // namespace cloche::egress
