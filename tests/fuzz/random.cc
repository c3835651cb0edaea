#include <algorithm>

#include "fuzz.h"

namespace cloche::fuzz {
namespace {

constexpr size_t kLongest = 1 << 16;

void WriteNumber(Random& random, std::string& bytes) {
  const size_t sizes[] = {1, 2, 4, 8};
  const size_t size = random.Pick(sizes);
  if (bytes.size() < size) return;
  const uint64_t number = random.Number();
  const size_t at = random.Below(bytes.size() - size + 1);
  for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(number >> (8 * i));
}

}  // namespace

// splitmix64
uint64_t Random::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t Random::Number() {
  if (OneIn(4)) return Next() >> Below(64);
  const uint64_t power = uint64_t{1} << Below(64);
  return power + Below(3) - 1;
}

std::string Mutate(Random& random, std::string bytes, std::span<const std::string_view> words) {
  for (size_t left = 1 + random.Below(4); left > 0; --left) {
    const size_t at = random.Below(bytes.size() + 1);
    const size_t size = random.Below(std::min<size_t>(bytes.size() - at, 64) + 1);
    switch (random.Below(7)) {
      case 0:
        if (!bytes.empty()) {
          char& byte = bytes[random.Below(bytes.size())];
          byte = static_cast<char>(byte ^ (1 << random.Below(8)));
        }
        break;
      case 1:
        if (!bytes.empty()) bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
        break;
      case 2:
        WriteNumber(random, bytes);
        break;
      case 3:
        bytes.erase(at, size);
        break;
      case 4:
        bytes.insert(at, bytes.substr(at, size));
        break;
      case 5:
        bytes.resize(at);
        break;
      default:
        if (!words.empty()) bytes.replace(at, random.OneIn(2) ? 0 : size, random.Pick(words));
    }
    if (bytes.size() > kLongest) bytes.resize(kLongest);
  }
  return bytes;
}

bool IsHarmlessOnATerminal(std::string_view text, bool lines) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const auto last = static_cast<unsigned char>(i + 2 < text.size() ? text[i + 2] : 0);
    if ((c < 0x20 && !(lines && c == '\n')) || c == 0x7f) return false;
    if (c == 0xc2 && next >= 0x80 && next <= 0x9f) return false;  // C1 controls
    // U+200B..200F, U+2028..202E, U+2060..206F
    if (c == 0xe2 && next == 0x80 &&
        ((last >= 0x8b && last <= 0x8f) || (last >= 0xa8 && last <= 0xae)))
      return false;
    if (c == 0xe2 && next == 0x81 && last >= 0xa0 && last <= 0xaf) return false;
    if (c == 0xef && next == 0xbb && last == 0xbf) return false;  // U+FEFF
    if (c == 0xc0 || c == 0xc1 || c > 0xf4) return false;         // never in UTF-8
  }
  return true;
}

}  // namespace cloche::fuzz
