#pragma once

#include <string>

#include "egress/connection.h"
#include "egress/http_head.h"
#include "egress/redactor.h"
#include "egress/task.h"

namespace cloche::egress {

// One message: `start` is its head as it shall be written, the body follows as `head` says.
// False when it broke off.
Task<bool> PassMessage(Connection& connection, Channel& from, Channel& to, const HttpHead& head,
                       std::string start);

// The same, with what `redactor` finds in the body covered.
Task<bool> PassRedacted(Connection& connection, Channel& from, Channel& to, const HttpHead& head,
                        std::string start, Redactor& redactor);

// The whole body, when it is not longer than `most`: 1. 0: it is longer, and still to come.
// -1: it broke off.
Task<int> ReadBody(Connection& connection, Channel& from, const HttpHead& head, size_t most,
                   std::string& body);

}  // namespace cloche::egress
