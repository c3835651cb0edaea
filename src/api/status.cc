#include "api/handlers.h"
#include "policy/change_request.h"
#include "policy/request.h"

// The daemon itself, and the plan of a sandbox.
namespace cloche::api {

Task<Response> ShowStatus(Call& call) {
  co_return JsonResponse(call.daemon.StatusJson(call.client));
}

Task<Response> Explain(Call& call) {
  auto parsed = ParseBody(call.request, ParseSandboxRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  co_return Reply(co_await call.daemon.lifecycle.Explain(std::move(*parsed), call.client));
}

// An undo has changed it.
Task<Response> ShowReality(Call& call) {
  const Status shown = co_await call.daemon.promotions.ShowReality(call.client);
  co_return shown ? JsonResponse(Json::object()) : ErrorResponse(shown.error());
}

// An undo is about to change it.
Task<Response> FlattenStates(Call& call) {
  auto parsed = ParseBody(call.request, ParseFlattenRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  const Status copied =
      co_await call.daemon.promotions.FlattenBeforeUndo(std::move(*parsed), call.client);
  co_return copied ? JsonResponse(Json::object()) : ErrorResponse(copied.error());
}

}  // namespace cloche::api
