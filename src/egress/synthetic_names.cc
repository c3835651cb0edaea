#include "egress/synthetic_names.h"

#include <cstring>

namespace cloche::egress {
namespace {

// 198.18.0.0/15 is for benchmarks and routed nowhere; the other is a private range of its own.
constexpr uint8_t kFour[2] = {198, 18};
constexpr uint8_t kSix[8] = {0xfd, 0xc1, 0x0c, 0x4e, 0, 0, 0, 0};

IpAddress Make(uint32_t number, bool six) {
  IpAddress address;
  address.six = six;
  uint8_t* end;
  if (six) {
    std::memcpy(address.bytes.data(), kSix, sizeof kSix);
    end = address.bytes.data() + 12;
  } else {
    std::memcpy(address.bytes.data(), kFour, sizeof kFour);
    end = address.bytes.data();
  }
  end[1] = static_cast<uint8_t>((six ? 0 : kFour[1]) + (number >> 16));
  end[2] = static_cast<uint8_t>(number >> 8);
  end[3] = static_cast<uint8_t>(number);
  return address;
}

constexpr uint32_t kSpace = 1 << 17;  // 198.18.0.0/15
constexpr int kMostTries = 64;

// FNV-1a: the same in every process.
uint64_t Hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::optional<IpAddress> SyntheticNames::AddressOf(const std::string& name, bool six) {
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    if (names_.size() >= kMost) return std::nullopt;
    const uint64_t hash = Hash(sandbox_ + '/' + name);
    const auto step = static_cast<uint32_t>(hash >> 32 | 1);
    auto number = static_cast<uint32_t>(hash) % kSpace;
    int tries = 0;
    // The first and the last address of a range are nobody's.
    while (number == 0 || number == kSpace - 1 || names_.contains(number)) {
      if (++tries == kMostTries) return std::nullopt;
      number = (number + step) % kSpace;
    }
    names_.emplace(number, name);
    found = numbers_.emplace(name, number).first;
  }
  return Make(found->second, six);
}

const std::string* SyntheticNames::NameAt(const IpAddress& address) const {
  if (!IsSynthetic(address)) return nullptr;
  const uint8_t* end = address.bytes.data() + (address.six ? 12 : 0);
  const uint32_t high = address.six ? static_cast<uint32_t>(end[0]) << 8 | end[1]
                                    : static_cast<uint32_t>(end[1] - kFour[1]);
  const uint32_t number = high << 16 | static_cast<uint32_t>(end[2]) << 8 | end[3];
  const auto found = names_.find(number);
  return found == names_.end() ? nullptr : &found->second;
}

bool SyntheticNames::IsSynthetic(const IpAddress& address) {
  if (address.six) {
    const uint8_t* rest = address.bytes.data() + sizeof kSix;
    return std::memcmp(address.bytes.data(), kSix, sizeof kSix) == 0 &&
           (rest[0] | rest[1] | rest[2] | rest[3]) == 0;
  }
  return address.bytes[0] == kFour[0] && (address.bytes[1] & 0xfe) == kFour[1];
}

}  // namespace cloche::egress
