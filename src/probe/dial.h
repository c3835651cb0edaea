#pragma once

#include <sys/socket.h>

#include <string>

namespace cloche::probe {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  int family = AF_UNSPEC;
};

// inet_aton reads the forms in which people hide addresses: 2130706433, 0x7f.1, 0177.0.0.1. Text
// that is not an address has the family AF_UNSPEC.
Address ParseAddress(const std::string& text, int port);

// Connected, or -1.
int Connect(const Address& to, int type, int protocol = 0);

// Connects, says one byte, and goes.
bool Dial(const Address& to, int type, int protocol);

}  // namespace cloche::probe
