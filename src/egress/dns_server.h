#pragma once

#include <memory>

#include "egress/connection.h"
#include "egress/task.h"

namespace cloche::egress {

// A sandbox's resolver. It knows the names that were granted and asks nobody about the others.
std::string AnswerDns(Services& services, Sandbox& sandbox, std::string_view message,
                      uint16_t source_port);  // empty: no answer

Task<void> ServeDatagrams(Services& services, std::shared_ptr<Sandbox> sandbox,
                          std::shared_ptr<Socket> socket);
Task<void> ServeDnsStream(Connection& connection);

}  // namespace cloche::egress
