#include "policy/weak_value.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/ascii.h"

namespace cloche {
namespace {

constexpr double kEnoughBits = 60;
constexpr double kWordBits = 2;      // of a letter in a word; people choose words
constexpr double kRepeatedBits = 1;  // of one that repeats or continues the one before
constexpr size_t kShortestWord = 4;

// Letters of one case after the first, a vowel among every few: someone can say it.
bool IsWord(std::string_view text) {
  if (text.size() < kShortestWord) return false;
  size_t consonants = 0;
  for (const char c : text) {
    const char lower = static_cast<char>(c | 0x20);
    const bool vowel = std::string_view("aeiouy").find(lower) != std::string_view::npos;
    consonants = vowel ? 0 : consonants + 1;
    if (consonants > 4) return false;
  }
  return std::ranges::any_of(text, [](char c) {
    return std::string_view("aeiouAEIOU").find(c) != std::string_view::npos;
  });
}

size_t WordAt(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && (IsLower(text[size]) || (size == 0 && IsUpper(text[0])))) ++size;
  if (size >= 2) return IsWord(text.substr(0, size)) ? size : 0;
  while (size < text.size() && IsUpper(text[size])) ++size;
  return IsWord(text.substr(0, size)) ? size : 0;
}

double BitsOf(std::string_view value) {
  double alphabet = 0;
  if (std::ranges::any_of(value, IsLower)) alphabet += 26;
  if (std::ranges::any_of(value, IsUpper)) alphabet += 26;
  if (std::ranges::any_of(value, IsDigit)) alphabet += 10;
  if (std::ranges::any_of(value, [](char c) { return !IsLower(c) && !IsUpper(c) && !IsDigit(c); }))
    alphabet += 20;
  // Nobody draws from an alphabet and uses two letters of it.
  const std::set<char> used(value.begin(), value.end());
  const double each = std::log2(std::min(alphabet, 2.0 * static_cast<double>(used.size())));
  double bits = 0;
  for (size_t i = 0; i < value.size();) {
    if (const size_t word = WordAt(value.substr(i)); word > 0) {
      bits += kWordBits * static_cast<double>(word);
      i += word;
      continue;
    }
    const bool goes_on = i > 0 && std::abs(value[i] - value[i - 1]) <= 1;
    bits += goes_on ? kRepeatedBits : each;
    ++i;
  }
  return bits;
}

}  // namespace

std::string WhyGuessable(std::string_view value) {
  if (BitsOf(value) >= kEnoughBits) return "";
  if (value.size() < 12) return "it is short";
  return "it is made of words, repeats or few different characters";
}

}  // namespace cloche
