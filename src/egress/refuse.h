#pragma once

#include <string_view>

#include "egress/connection.h"
#include "egress/task.h"

namespace cloche::egress {

// The last bytes of a connection: sent, and given time to arrive.
Task<void> Farewell(Channel& channel, std::string_view bytes, int64_t now);

// Tells a program why, in its protocol: HTTP gets a page, TLS an alert, all others a reset. The
// bytes read so far are in connection.client.unread; a silent program is not waited for.
Task<void> Refuse(Connection& connection, std::string_view reason);

// The text in it for people.
std::string RefusalText(int status, std::string_view reason);
std::string HttpRefusal(int status, std::string_view reason);

bool LooksLikeTls(std::string_view bytes);
bool LooksLikeHttp(std::string_view bytes);

}  // namespace cloche::egress
