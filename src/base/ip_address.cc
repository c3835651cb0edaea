#include "base/ip_address.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace cloche {
namespace {

struct Reserved {
  const char* range;
  const char* use;
};

constexpr Reserved kReserved4[] = {
    {"0.0.0.0/8", "this network"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "carrier-grade NAT"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local"},  // the metadata services of clouds too
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "protocol assignments"},
    {"192.0.2.0/24", "documentation"},
    {"192.88.99.0/24", "6to4 relay"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "benchmarking"},  // our own synthetic answers too
    {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},
};

// Outside of 2000::/3 nothing is public; these are inside of it, or have a better name.
constexpr Reserved kReserved6[] = {
    {"::/128", "unspecified"},
    {"::1/128", "loopback"},
    {"64:ff9b::/96", "translation to IPv4"},
    {"64:ff9b:1::/48", "translation to IPv4"},
    {"2001::/23", "protocol assignments"},  // Teredo too
    {"2001:db8::/32", "documentation"},
    {"2002::/16", "6to4"},
    {"3fff::/20", "documentation"},
    {"fc00::/7", "private"},
    {"fe80::/10", "link-local"},
    {"ff00::/8", "multicast"},
};

int Width(const IpAddress& address) { return address.six ? 128 : 32; }

template <size_t N>
const Reserved* Find(const Reserved (&table)[N], const IpAddress& address) {
  for (const Reserved& each : table) {
    if (ParseIpRange(each.range)->Contains(address)) return &each;
  }
  return nullptr;
}

const Reserved* Find(const IpAddress& address) {
  return address.six ? Find(kReserved6, address) : Find(kReserved4, address);
}

bool IsUnassigned(const IpAddress& address) { return address.six && address.bytes[0] >> 5 != 1; }

}  // namespace

IpAddress Ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  IpAddress address;
  address.bytes = {a, b, c, d};
  return address;
}

IpAddress FromBytes4(const void* four) {
  IpAddress address;
  std::memcpy(address.bytes.data(), four, 4);
  return address;
}

IpAddress FromBytes16(const void* sixteen) {
  static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const auto* bytes = static_cast<const uint8_t*>(sixteen);
  if (std::equal(kMapped, kMapped + 12, bytes)) return FromBytes4(bytes + 12);
  IpAddress address;
  address.six = true;
  std::memcpy(address.bytes.data(), bytes, 16);
  return address;
}

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  if (text.size() > 45 || text.find('\0') != text.npos) return std::nullopt;
  const std::string copy(text);
  uint8_t bytes[16];
  if (inet_pton(AF_INET, copy.c_str(), bytes) == 1) return FromBytes4(bytes);
  if (inet_pton(AF_INET6, copy.c_str(), bytes) == 1) return FromBytes16(bytes);
  return std::nullopt;
}

std::string FormatIpAddress(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.six ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

std::string FormatEndpoint(const IpAddress& address, uint16_t port) {
  return fmt::format(fmt::runtime(address.six ? "[{}]:{}" : "{}:{}"), FormatIpAddress(address),
                     port);
}

bool IpRange::Contains(const IpAddress& address) const {
  if (address.six != first.six) return false;
  const auto whole = static_cast<size_t>(bits / 8);
  if (!std::equal(first.bytes.begin(), first.bytes.begin() + static_cast<long>(whole),
                  address.bytes.begin()))
    return false;
  if (bits % 8 == 0) return true;
  const int shift = 8 - bits % 8;
  return first.bytes[whole] >> shift == address.bytes[whole] >> shift;
}

std::optional<IpRange> ParseIpRange(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = ParseIpAddress(text.substr(0, slash));
  if (!address) return std::nullopt;
  IpRange range{*address, Width(*address)};
  if (slash == text.npos) return range;
  const std::string_view bits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), range.bits);
  if (error != std::errc() || end != bits.data() + bits.size() || bits[0] == '-' ||
      (bits[0] == '0' && bits.size() > 1) || range.bits > Width(*address))
    return std::nullopt;
  for (int bit = range.bits; bit < Width(*address); ++bit) {
    if ((address->bytes[static_cast<size_t>(bit / 8)] >> (7 - bit % 8) & 1) != 0)
      return std::nullopt;
  }
  return range;
}

std::string FormatIpRange(const IpRange& range) {
  return fmt::format("{}/{}", FormatIpAddress(range.first), range.bits);
}

const char* ReservedUse(const IpAddress& address) {
  if (const Reserved* block = Find(address)) return block->use;
  return IsUnassigned(address) ? "reserved" : nullptr;
}

bool Grants(const IpRange& range, const IpAddress& address) {
  if (!range.Contains(address)) return false;
  constexpr int kUnassignedBits = 3;
  const Reserved* block = Find(address);
  if (block == nullptr) return !IsUnassigned(address) || range.bits >= kUnassignedBits;
  return range.bits >= ParseIpRange(block->range)->bits;
}

bool IsMuchOfTheInternet(const IpRange& range) {
  const bool reserved = ReservedUse(range.first) != nullptr && Grants(range, range.first);
  return range.bits <= (range.first.six ? 16 : 8) && !reserved;
}

}  // namespace cloche
