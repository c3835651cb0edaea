#include "api/session.h"
#include "policy/secret_request.h"

// Secrets of whoever asks. No answer ever holds a value.
namespace cloche::api {

Task<Response> ServeSecrets(Engine& engine, const Client& client, const Request& request) {
  const auto& path = request.path;
  if (path.size() == 1 && request.method == "GET") {
    const auto list = engine.SecretsJson(client);
    co_return list ? JsonResponse(*list) : ErrorResponse(list.error());
  }
  if (path.size() < 2 || path.size() > 3 || (path.size() == 3 && path[2] != "rotate"))
    co_return ErrorResponse(
        {Code::kNotFound, "find resource: no such path or method", "see openapi.yaml"});
  const std::string name = path[1];
  if (!IsValidSecretName(name))
    co_return ErrorResponse({Code::kInvalid, "secrets: that is no name of one",
                             "use 1 to 64 letters, digits, -, _ and ."});
  if (path.size() == 2 && request.method == "GET") {
    const auto found = engine.SecretsJson(client, name);
    co_return found ? JsonResponse(*found) : ErrorResponse(found.error());
  }
  if (path.size() == 2 && request.method == "DELETE") {
    auto found = engine.SecretsJson(client, name);
    if (!found) co_return ErrorResponse(found.error());
    const Status removed = co_await engine.RemoveSecret(name, client);
    (*found)["state"] = "removed";
    co_return removed ? JsonResponse(*found) : ErrorResponse(removed.error());
  }
  const bool rotates = path.size() == 3 && request.method == "POST";
  if (!rotates && (path.size() == 3 || request.method != "PUT"))
    co_return ErrorResponse({Code::kInvalid, "secrets: no such method", "see openapi.yaml"});
  auto body = request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  Status done;
  if (rotates) {
    auto value = ParseSecretValue(*body);
    if (!value) co_return ErrorResponse(value.error());
    done = co_await engine.RotateSecret(name, std::move(*value), client);
  } else {
    auto parsed = ParseSecretRequest(*body);
    if (!parsed) co_return ErrorResponse(parsed.error());
    done = co_await engine.SetSecret(name, std::move(*parsed), client);
  }
  if (!done) co_return ErrorResponse(done.error());
  const auto now = engine.SecretsJson(client, name);
  co_return now ? JsonResponse(*now) : ErrorResponse(now.error());
}

}  // namespace cloche::api
