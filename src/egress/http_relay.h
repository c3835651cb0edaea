#pragma once

#include "egress/connection.h"
#include "egress/http_head.h"
#include "egress/task.h"

namespace cloche::egress {

// Reads the head of the next message into `head` and takes it off `channel.unread`. 1: it is there,
// 0: the other side ended before it began, -errno; -EBADMSG: not a valid head.
Task<long> ReadHead(Connection& connection, Channel& channel, std::string& head, bool idle_first);

// Requests one after the other, each decided on, until one side has enough. `kind` is what the
// connection was let through as. With `proxy` each request names its own host.
Task<void> ServeHttp(Connection& connection, Kind kind, bool proxy);

}  // namespace cloche::egress
