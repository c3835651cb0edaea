#pragma once

#include <optional>

#include "egress/connection.h"
#include "egress/http_request.h"
#include "egress/task.h"

namespace cloche::egress {

// HTTP/2 with a program whose TLS ends here, and with the server: each stream is a request, decided
// on as those of HTTP/1.1 are. connection.upstream speaks HTTP/2 as well; when there is none,
// `unreachable` is the answer to each request.
Task<void> ServeH2(Connection& connection, std::optional<Refusal> unreachable);

}  // namespace cloche::egress
