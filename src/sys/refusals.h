#pragma once

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::sys {

// One refused packet. Reading them needs no rights.
struct Refusal {
  uint8_t protocol = 0;      // 17: UDP
  std::string address;       // destination
  uint16_t port = 0;         // for UDP and its kin
  uint16_t source_port = 0;  // for UDP and its kin
};
std::vector<Refusal> ReadRefusals(int log);  // those available now
std::optional<Refusal> ParseRefused(std::string_view packet);
const char* ProtocolName(uint8_t protocol);  // "UDP"

}  // namespace cloche::sys
