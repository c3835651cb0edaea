#include "egress/socks.h"

namespace cloche::egress {
namespace {

constexpr char kVersion = 5;
constexpr uint8_t kAddress4 = 1, kName = 3, kAddress6 = 4;

}  // namespace

Parsed ParseSocksGreeting(std::string_view bytes, size_t& used, SocksGreeting& greeting) {
  if (bytes.empty()) return Parsed::kMore;
  if (bytes[0] != kVersion) return Parsed::kBad;
  if (bytes.size() < 2) return Parsed::kMore;
  const size_t methods = static_cast<uint8_t>(bytes[1]);
  if (methods == 0) return Parsed::kBad;
  if (bytes.size() < 2 + methods) return Parsed::kMore;
  greeting.plain = bytes.substr(2, methods).find('\0') != bytes.npos;
  used = 2 + methods;
  return Parsed::kDone;
}

Parsed ParseSocksRequest(std::string_view bytes, size_t& used, SocksRequest& request) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (!bytes.empty() && bytes[0] != kVersion) return Parsed::kBad;
  if (bytes.size() < 5) return Parsed::kMore;
  if (at(2) != 0) return Parsed::kBad;
  request.command = at(1);
  const uint8_t type = at(3);
  size_t start = 4, size = 0;
  if (type == kAddress4) {
    size = 4;
  } else if (type == kAddress6) {
    size = 16;
  } else if (type == kName) {
    start = 5;
    size = at(4);
    if (size == 0) return Parsed::kBad;
  } else {
    return Parsed::kBad;
  }
  if (bytes.size() < start + size + 2) return Parsed::kMore;
  if (type == kAddress4) request.address = FromBytes4(bytes.data() + start);
  if (type == kAddress6) request.address = FromBytes16(bytes.data() + start);
  if (type == kName) request.name = bytes.substr(start, size);
  request.port = static_cast<uint16_t>(at(start + size) << 8 | at(start + size + 1));
  used = start + size + 2;
  return Parsed::kDone;
}

std::string MakeSocksReply(uint8_t code) {
  std::string reply(10, '\0');
  reply[0] = kVersion;
  reply[1] = static_cast<char>(code);
  reply[3] = kAddress4;
  return reply;
}

}  // namespace cloche::egress
