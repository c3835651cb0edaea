#pragma once

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::sys {

// One packet that was refused. Reading them needs no rights.
struct Refusal {
  uint8_t protocol = 0;      // 17: UDP
  std::string address;       // where to
  uint16_t port = 0;         // of UDP and its kin
  uint16_t source_port = 0;  // likewise
};
std::vector<Refusal> ReadRefusals(int log);  // those that are there
std::optional<Refusal> ParseRefused(std::string_view packet);
const char* ProtocolName(uint8_t protocol);  // "UDP"

}  // namespace cloche::sys
