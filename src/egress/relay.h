#pragma once

#include <string_view>

#include "egress/connection.h"
#include "egress/task.h"
#include "egress/tls_handshake.h"

namespace cloche::egress {

// Both ways until both have ended. Each end of sending is passed on. Nothing passes from a side
// that does not begin with `greeting`.
Task<void> Relay(Connection& connection, std::string_view greeting = {});
// The same, of TLS: every hello is judged, and the certificate of the server is recorded where it
// can be seen.
Task<void> RelayTls(Connection& connection, TlsHandshake::Judge judge);

// Exactly `size` bytes one way, or until the end with UINT64_MAX. `from.unread` first. False when
// it broke off. Bytes from the client count as up.
Task<bool> Pass(Connection& connection, Channel& from, Channel& to, uint64_t size);

}  // namespace cloche::egress
