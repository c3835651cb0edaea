#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche {

// An IPv4 address has its four bytes first and zeros after them. IPv4 written as IPv6
// (::ffff:127.0.0.1) is IPv4: there is one value for one destination.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};
  bool six = false;
  auto operator<=>(const IpAddress&) const = default;
};

IpAddress Ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d);
IpAddress FromBytes4(const void* four);
IpAddress FromBytes16(const void* sixteen);

// The plain forms only: four decimal numbers without leading zeros, or IPv6 without a scope. 127.1,
// 0x7f.1, 2130706433 and 0177.0.0.1 are refused.
std::optional<IpAddress> ParseIpAddress(std::string_view text);
std::string FormatIpAddress(const IpAddress& address);
std::string FormatEndpoint(const IpAddress& address, uint16_t port);  // [::1]:80

struct IpRange {
  IpAddress first;
  int bits = 0;
  bool Contains(const IpAddress& address) const;
  bool operator==(const IpRange&) const = default;
};

// "10.0.0.0/8" or one address. Bits below the prefix must be zero: 10.1.2.3/8 is most likely a
// mistake.
std::optional<IpRange> ParseIpRange(std::string_view text);
std::string FormatIpRange(const IpRange& range);

// The use an address is reserved for ("loopback", "private", ...); nullptr for a host of the public
// internet.
const char* ReservedUse(const IpAddress& address);

// Whether a grant of `range` is one of `address`. A reserved address must be named: a range that
// reaches beyond its reserved block (0.0.0.0/0) was written for the public internet.
bool Grants(const IpRange& range, const IpAddress& address);

// So many public addresses that anybody can have one of them.
bool IsMuchOfTheInternet(const IpRange& range);

}  // namespace cloche
