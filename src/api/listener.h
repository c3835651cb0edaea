#pragma once

#include "api/session.h"

namespace cloche::api {

// Accepts on an already bound socket until it is closed; one coroutine per connection.
Task<void> Listen(Daemon& daemon, asio::local::stream_protocol::acceptor& acceptor);

}  // namespace cloche::api
