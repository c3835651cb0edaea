#include "api/handlers.h"
#include "policy/secret_request.h"

// Secrets of the caller. No answer ever holds a value.
namespace cloche::api {
namespace {

Result<std::string> NameIn(const Call& call) {
  if (IsValidSecretName(call.Part(1))) return call.Part(1);
  return Fail(Code::kInvalid, "secrets: not a valid name",
              "use 1 to 64 letters, digits, -, _ and .");
}

Response Shown(const Status& done, const Call& call, const std::string& name) {
  if (!done) return ErrorResponse(done.error());
  return Reply(call.daemon.secrets.ToJson(call.client, name));
}

}  // namespace

Task<Response> ListSecrets(Call& call) { co_return Reply(call.daemon.secrets.ToJson(call.client)); }

Task<Response> ShowSecret(Call& call) {
  const auto name = NameIn(call);
  if (!name) co_return ErrorResponse(name.error());
  co_return Reply(call.daemon.secrets.ToJson(call.client, *name));
}

Task<Response> SetSecret(Call& call) {
  const auto name = NameIn(call);
  if (!name) co_return ErrorResponse(name.error());
  auto parsed = ParseBody(call.request, ParseSecretRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  const Status set = co_await call.daemon.secrets.Set(*name, std::move(*parsed), call.client);
  co_return Shown(set, call, *name);
}

Task<Response> RotateSecret(Call& call) {
  const auto name = NameIn(call);
  if (!name) co_return ErrorResponse(name.error());
  auto value = ParseBody(call.request, ParseSecretValue);
  if (!value) co_return ErrorResponse(value.error());
  const Status rotated = co_await call.daemon.secrets.Rotate(*name, std::move(*value), call.client);
  co_return Shown(rotated, call, *name);
}

Task<Response> RemoveSecret(Call& call) {
  const auto name = NameIn(call);
  if (!name) co_return ErrorResponse(name.error());
  auto found = call.daemon.secrets.ToJson(call.client, *name);
  if (!found) co_return ErrorResponse(found.error());
  const Status removed = co_await call.daemon.secrets.Remove(*name, call.client);
  (*found)["state"] = "removed";
  co_return removed ? JsonResponse(*found) : ErrorResponse(removed.error());
}

}  // namespace cloche::api
