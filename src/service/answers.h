#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cloche::service {

enum class Protocol { kUnknown, kPostgres, kRedis };

Protocol ProtocolOf(const std::string& program);  // by the name of its file

// Where a service can be reached, on this machine's (or the sandbox's) own loopback.
struct Address {
  uint16_t port = 0;  // 0: at a socket file
  std::string socket;
};

// Whether it serves: it accepts, and if we speak its protocol, it does not say "not yet".
bool Answers(const Address& address, Protocol protocol);

// One reply of a Redis to one inline command; "" when there was none.
std::string AskRedis(const Address& address, const std::string& command);

}  // namespace cloche::service
