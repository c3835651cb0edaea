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

}  // namespace

std::optional<IpAddress> SyntheticNames::AddressOf(const std::string& name, bool six) {
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    if (names_.size() >= kMost) return std::nullopt;
    names_.push_back(name);
    found = numbers_.emplace(name, static_cast<uint32_t>(names_.size())).first;  // from 1 on
  }
  return Make(found->second, six);
}

const std::string* SyntheticNames::NameAt(const IpAddress& address) const {
  if (!IsSynthetic(address)) return nullptr;
  const uint8_t* end = address.bytes.data() + (address.six ? 12 : 0);
  const uint32_t high = address.six ? static_cast<uint32_t>(end[0]) << 8 | end[1]
                                    : static_cast<uint32_t>(end[1] - kFour[1]);
  const uint32_t number = high << 16 | static_cast<uint32_t>(end[2]) << 8 | end[3];
  return number >= 1 && number <= names_.size() ? &names_[number - 1] : nullptr;
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
