#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"

namespace cloche::egress {

inline constexpr uint16_t kDnsA = 1, kDnsCname = 5, kDnsAaaa = 28;
inline constexpr uint8_t kDnsNoError = 0, kDnsFormatError = 1, kDnsServerFailure = 2,
                         kDnsNoSuchName = 3, kDnsNotImplemented = 4, kDnsRefused = 5;

// A program's question. A message that is not a query at all is std::nullopt and gets no answer.
struct DnsQuery {
  uint16_t id = 0;
  bool recursion = false;
  uint8_t refuse_with = 0;  // an rcode, when it must not be answered: two questions, no query, ...
  std::string name;         // normal; empty when not a host name
  std::string shown;        // as it was asked, for the log
  uint16_t type = 0;
  std::string question;  // as it came: it goes back unchanged
};
std::optional<DnsQuery> ParseDnsQuery(std::string_view message);

std::string MakeDnsAnswer(const DnsQuery& query, uint8_t rcode,
                          const std::vector<IpAddress>& addresses, uint32_t ttl);

// The question we ask. `name` is sent as it is written (capitals too: an answer must repeat them).
std::string MakeDnsQuestion(uint16_t id, std::string_view name, uint16_t type);

struct DnsAnswer {
  uint8_t rcode = 0;
  bool truncated = false;
  std::vector<IpAddress> addresses;  // of the name, or of what its CNAMEs lead to
  uint32_t ttl = 0;                  // the smallest on the way
};
// `question` is the message that was sent: id, name (byte by byte) and type must come back.
Result<DnsAnswer> ParseDnsAnswer(std::string_view message, std::string_view question);

}  // namespace cloche::egress
