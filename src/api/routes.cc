#include "api/routes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace cloche::api {
namespace {

constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;
constexpr size_t kSmall = 256 * kKiB;
constexpr size_t kWithCommand = 8 * kMiB;  // arguments and environment, as far as the kernel goes

constexpr Route kRoutes[] = {
    {"status", "GET", 0},
    {"doctor", "GET", 0},
    {"explain", "POST", kWithCommand},
    {"run", "POST", kWithCommand},
    {"sandboxes", "GET POST", kWithCommand},
    {"sandboxes/*", "GET DELETE PATCH", kSmall},
    {"sandboxes/*/start", "POST", kSmall},
    {"sandboxes/*/usage", "GET", 0},
    {"sandboxes/*/stop", "POST", kSmall},
    {"sandboxes/*/commands", "GET POST", kWithCommand},
    {"sandboxes/*/commands/*", "GET", 0},
    {"sandboxes/*/commands/*/output", "GET", 0},
    {"sandboxes/*/commands/*/attach", "POST", kSmall},
    {"sandboxes/*/commands/*/signal", "POST", kSmall},
    {"sandboxes/*/snapshots", "GET POST", kSmall},
    {"sandboxes/*/rollback", "POST", kSmall},
    {"sandboxes/*/fork", "POST", kSmall},
    {"sandboxes/*/changes", "GET", 0},
    {"sandboxes/*/promote", "POST", 16 * kMiB},  // texts of conflicts that a person resolved
    {"sandboxes/*/staleness", "GET", 0},
    {"sandboxes/*/refresh", "POST", kSmall},
    {"sandboxes/*/project_file", "GET PUT", kMiB},
    {"sandboxes/*/services", "GET POST", kWithCommand},
    {"sandboxes/*/services/*/restart", "POST", kSmall},
    {"sandboxes/*/services/*/output", "GET", 0},
    {"sandboxes/*/network", "GET POST", kMiB},
    {"sandboxes/*/network/log", "GET", 0},
    {"sandboxes/*/sign", "GET POST", kSmall},
    {"sandboxes/*/ports/*", "POST", kSmall},
    {"snapshots/*", "GET DELETE PATCH", kSmall},
    {"snapshots/*/fork", "POST", kSmall},
    {"reality", "POST", kSmall},
    {"secrets", "GET", 0},
    {"secrets/*", "GET PUT DELETE", kMiB},
    {"secrets/*/rotate", "POST", kMiB},
};

bool Matches(std::string_view pattern, const std::vector<std::string>& path) {
  for (const std::string& segment : path) {
    const size_t end = std::min(pattern.find('/'), pattern.size());
    const std::string_view part = pattern.substr(0, end);
    if (part.empty() || (part != "*" && part != segment)) return false;
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return pattern.empty();
}

bool Has(std::string_view methods, std::string_view method) {
  while (!methods.empty()) {
    const size_t end = std::min(methods.find(' '), methods.size());
    if (methods.substr(0, end) == method) return true;
    methods.remove_prefix(std::min(end + 1, methods.size()));
  }
  return false;
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

std::expected<size_t, Refusal> FindRoute(const std::string& method,
                                         const std::vector<std::string>& path) {
  std::string shown;
  for (const std::string& segment : path) shown += "/" + segment;
  shown = EscapeForTerminal(shown.substr(0, 200));
  for (const Route& route : kRoutes) {
    if (!Matches(route.path, path)) continue;
    if (Has(route.methods, method))
      return method == "GET" || method == "DELETE" ? kMostEmptyBody : route.most_body;
    return std::unexpected(Refusal{
        {Code::kInvalid,
         fmt::format("find resource: {} is not for /v1{}", EscapeForTerminal(method), shown),
         fmt::format("use {}; see openapi.yaml", route.methods)},
        405});
  }
  return std::unexpected(Refusal{
      {Code::kNotFound, fmt::format("find resource: there is no /v1{}", shown), "see openapi.yaml"},
      404});
}

}  // namespace cloche::api
