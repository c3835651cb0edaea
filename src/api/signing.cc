#include "api/handlers.h"
#include "policy/sign_request.h"

// The keys a sandbox may sign with.
namespace cloche::api {

Task<Response> ShowSigning(Call& call) {
  co_return JsonResponse(call.daemon.signing.ToJson(*call.sandbox));
}

Task<Response> ChangeSigning(Call& call) {
  auto change = ParseBody(call.request, ParseSigningChange);
  if (!change) co_return ErrorResponse(change.error());
  const Status changed =
      co_await call.daemon.signing.Change(call.sandbox, std::move(*change), call.client);
  co_return changed ? JsonResponse(call.daemon.signing.ToJson(*call.sandbox))
                    : ErrorResponse(changed.error());
}

}  // namespace cloche::api
