#pragma once

#include <memory>

#include "egress/connection.h"
#include "egress/task.h"

namespace cloche::egress {

// A connection that nft redirected to us: its destination is what the program wanted.
Task<void> ServeRedirected(std::unique_ptr<Connection> connection, bool six);

// A connection to our own port: SOCKS5 or HTTP, told apart by the first byte.
Task<void> ServeProxy(std::unique_ptr<Connection> connection);

// The rest of a connection whose target was admitted, by what it speaks.
Task<void> ServeTarget(Connection& connection);

}  // namespace cloche::egress
