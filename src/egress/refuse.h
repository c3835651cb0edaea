#pragma once

#include <string_view>

#include "egress/connection.h"
#include "egress/task.h"

namespace cloche::egress {

// The last bytes of a connection: sent, and given time to arrive.
Task<void> Farewell(Channel& channel, std::string_view bytes, int64_t now);

// Tells a program why, in whatever it speaks: HTTP gets a page, TLS an alert, all others a reset.
// What was read of it is in connection.client.unread; a program that is silent is not waited for.
Task<void> Refuse(Connection& connection, std::string_view reason);

// What a person reads in it.
std::string RefusalText(int status, std::string_view reason);
std::string HttpRefusal(int status, std::string_view reason);

bool LooksLikeTls(std::string_view bytes);
bool LooksLikeHttp(std::string_view bytes);

}  // namespace cloche::egress
