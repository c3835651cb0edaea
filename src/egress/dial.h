#pragma once

#include "base/result.h"
#include "egress/connection.h"
#include "egress/task.h"

namespace cloche::egress {

// Finds out where connection.target is, refuses addresses that no rule grants, and connects to
// exactly that. Afterwards connection.upstream is set. kDenied: a rule is missing; others: it did
// not work.
Task<Status> Dial(Connection& connection);

// TLS on connection.upstream: the server must prove that it is the host. With `two` it may choose
// HTTP/2.
Task<Status> SecureUpstream(Connection& connection, bool two);

}  // namespace cloche::egress
