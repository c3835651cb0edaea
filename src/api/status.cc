#include "api/handlers.h"
#include "policy/request.h"

// The daemon itself, and what a sandbox would be.
namespace cloche::api {

Task<Response> ShowStatus(Call& call) {
  co_return JsonResponse(call.engine.StatusJson(call.client));
}

Task<Response> Explain(Call& call) {
  auto parsed = ParseBody(call.request, ParseSandboxRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  co_return Reply(co_await call.engine.Explain(std::move(*parsed), call.client));
}

}  // namespace cloche::api
