#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ip_address.h"

namespace cloche::egress {

enum class Parsed : uint8_t { kMore, kDone, kBad };

// Both look at the bytes so far and say how many of them were theirs.
struct SocksGreeting {
  bool plain = false;  // the client is content without a password
};
Parsed ParseSocksGreeting(std::string_view bytes, size_t& used, SocksGreeting& greeting);

struct SocksRequest {
  uint8_t command = 0;  // 1: connect
  std::string name;     // as sent; empty: an address
  IpAddress address;
  uint16_t port = 0;
};
Parsed ParseSocksRequest(std::string_view bytes, size_t& used, SocksRequest& request);

inline constexpr uint8_t kSocksGranted = 0, kSocksFailure = 1, kSocksNotAllowed = 2,
                         kSocksHostUnreachable = 4, kSocksNoSuchCommand = 7,
                         kSocksNoSuchAddressType = 8;
std::string MakeSocksReply(uint8_t code);

}  // namespace cloche::egress
