#pragma once

#include <string>
#include <vector>

#include "probe/test_bed.h"

namespace cloche::probe {

// A server of the host that the border may be granted, at host.cloche: it believes everything it
// is told, and what it heard is the evidence.
class Origin {
 public:
  explicit Origin(const TestBed& bed);

  bool started() const { return port_ > 0; }
  int port() const { return port_; }
  std::string here() const { return "host.cloche:" + std::to_string(port_); }
  // Addresses of this machine that it listens on beside loopback.
  const Words& addresses() const { return addresses_; }

  struct Visit {
    std::string at;    // the address they came to
    std::string said;  // in one connection, since the last call; its beginning
    size_t size = 0;   // of all of it
  };
  // Everybody who came before this call.
  std::vector<Visit> Heard();
  // All of it as one text, each connection with where it came to.
  std::string HeardText();

 private:
  Words addresses_;
  Running server_;
  int port_ = 0, fences_ = 0;
};

// IPv4 addresses of this machine that are not loopback; a few of them.
Words OwnAddresses();

}  // namespace cloche::probe
