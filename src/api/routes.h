#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::api {

// What there is below /v1/, as src/api/openapi.yaml has it, and how large a body may be.
struct Route {
  std::string_view path;     // segments; * is any
  std::string_view methods;  // "GET POST"
  size_t most_body;          // of all but GET and DELETE, which need none
};
std::span<const Route> Routes();

inline constexpr size_t kMostEmptyBody = 64 << 10;  // where none is expected

struct Refusal {
  Error error;
  int status = 0;
};

// How large the body of this request may be; or that there is no such thing.
std::expected<size_t, Refusal> FindRoute(const std::string& method,
                                         const std::vector<std::string>& path);

}  // namespace cloche::api
