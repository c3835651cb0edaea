#pragma once

#include <string_view>
#include <vector>

#include "egress/connection.h"
#include "egress/task.h"
#include "sys/fd.h"

namespace cloche::egress {

struct Pipe {
  sys::Fd out, in;
};

// Pipes through which the kernel moves bytes from socket to socket. A connection has one only while
// something is under way.
class PipePool {
 public:
  Pipe Take();             // invalid when there are no descriptors left
  void Return(Pipe pipe);  // empty

 private:
  std::vector<Pipe> idle_;
};

// Both ways until both have ended. Each end of sending is passed on. Nothing passes from a side
// that does not begin with `greeting`.
Task<void> Relay(Connection& connection, std::string_view greeting = {});
// The same, of TLS: the certificate of the server is recorded, where it can be seen.
Task<void> RelayTls(Connection& connection);

// Exactly `size` bytes one way, or until the end with UINT64_MAX. `from.unread` first. False when
// it broke off. Bytes from the client count as up.
Task<bool> Pass(Connection& connection, Channel& from, Channel& to, uint64_t size);

}  // namespace cloche::egress
