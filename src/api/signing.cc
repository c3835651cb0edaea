#include "api/session.h"
#include "policy/sign_request.h"

// What a sandbox may have signed.
namespace cloche::api {

Task<Response> ServeSigning(Engine& engine, const Client& client, const Request& request,
                            std::shared_ptr<daemon::Sandbox> sandbox) {
  if (request.path.size() == 3 && request.method == "GET")
    co_return JsonResponse(engine.SigningJson(*sandbox));
  if (request.path.size() == 3 && request.method == "POST") {
    auto body = request.ParseBody();
    if (!body) co_return ErrorResponse(body.error());
    auto change = ParseSigningChange(*body);
    if (!change) co_return ErrorResponse(change.error());
    const Status changed = co_await engine.ChangeSigning(sandbox, std::move(*change), client);
    co_return changed ? JsonResponse(engine.SigningJson(*sandbox)) : ErrorResponse(changed.error());
  }
  co_return ErrorResponse(
      {Code::kNotFound, "find resource: no such path or method", "see openapi.yaml"});
}

}  // namespace cloche::api
