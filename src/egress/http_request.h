#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "egress/connection.h"
#include "egress/http_head.h"
#include "egress/redactor.h"
#include "egress/secret_swap.h"

namespace cloche::egress {

// Shared by HTTP/1.1 and HTTP/2: one request, decided on.

inline constexpr const char* kJsonTooLong =
    "a JSON body with a secret in it may have 1 MiB, and as much again of values";

struct Refusal {
  int status = 0;
  std::string reason;
};
struct Judged {
  Connection::Asked
      asked;  // the caller keeps it in connection.asked while the request is under way
  std::vector<SecretInUse> secrets;        // that are in the head now; the body is the caller's
  std::shared_ptr<const Needles> needles;  // for the answer; none: it may pass as it is
  bool restricted = false;                 // rules there tell requests apart
};

// Checks that the request agrees with the connection, is granted, and fits. If so, its head is
// rewritten as the server shall see it, and it is counted. If not, it has been reported.
std::expected<Judged, Refusal> JudgeRequest(Connection& connection, Kind kind,
                                            RequestHead& request);

// After the body, if there are secrets in it.
void CountUses(Connection& connection, const std::vector<SecretInUse>& secrets);

// An answer had a secret in it, which was covered. Where the request had no placeholder, the
// program may have guessed: that is an event of its own.
void TellRedacted(Connection& connection, const std::vector<SecretInUse>& secrets);

// Why an answer could hide a secret: it did not come whole and unencoded, as was asked. Or "".
const char* WhyNotRedacted(const ResponseHead& answer);
// Answers before the answer (1xx) that a request may have.
inline constexpr int kMostInterim = 16;
inline constexpr const char* kTooManyInterim = "it answers without an end";

// An event of its own, for a request on a connection that stays open.
void TellRefusal(Connection& connection, const std::string& reason, const std::string& rule);

// The destination that an authority names; an error with the reason when it names none.
Result<Target> TargetOf(const Sandbox& sandbox, std::string_view authority, uint16_t usual_port);
Target TargetAt(const Sandbox& sandbox, const IpAddress& address, uint16_t port);

}  // namespace cloche::egress
