#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/guest.h"
#include "base/result.h"
#include "daemon/event.h"

namespace cloche::api {

using daemon::Json;
struct Route;

struct Request {
  std::string method;
  std::vector<std::string> path;  // decoded segments after /v1
  std::vector<std::pair<std::string, std::string>> query;
  std::string body;
  const Route* route = nullptr;  // that it was admitted for
  Hold hold;                     // of the body
  bool upgrade = false;          // to cloche-stream
  std::string Query(const std::string& key) const;
  Result<nlohmann::json> ParseBody() const;
};

// The body of a request, as `parse` reads it.
template <typename Parse>
auto ParseBody(const Request& request, Parse parse)
    -> decltype(parse(std::declval<nlohmann::json&>())) {
  ASSIGN_OR_RETURN(nlohmann::json body, request.ParseBody());
  return parse(body);
}

struct Response {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  bool again = false;  // nothing was done: the same request is for the next daemon
};
Response JsonResponse(const Json& body, int status = 200);
Response ErrorResponse(const Error& error);
Response Reply(const Result<Json>& result, int status = 200);

}  // namespace cloche::api
