#pragma once

#include <memory>

#include "egress/connection.h"
#include "egress/task.h"

namespace cloche::egress {

// A sandbox's resolver. It knows the names that were granted and asks nobody about the others.
// `told` is the number of the event that reports a refusal, 0 for none.
std::string AnswerDns(Services& services, Sandbox& sandbox, std::string_view message,
                      uint16_t source_port, uint64_t& told);  // empty: no answer

Task<void> ServeDatagrams(Services& services, std::shared_ptr<Sandbox> sandbox,
                          std::shared_ptr<Socket> socket);
Task<void> ServeDnsStream(Connection& connection);

}  // namespace cloche::egress
