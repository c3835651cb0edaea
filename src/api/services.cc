#include "api/handlers.h"
#include "daemon/sandbox_json.h"

namespace cloche::api {
namespace {

Response Shown(const Status& done, const daemon::Sandbox& sandbox) {
  return done ? JsonResponse(daemon::ServicesJson(sandbox)) : ErrorResponse(done.error());
}

}  // namespace

Task<Response> ListServices(Call& call) {
  co_return JsonResponse(daemon::ServicesJson(*call.sandbox));
}

Task<Response> AddServices(Call& call) {
  auto services = ParseBody(call.request, ParseServices);
  if (!services) co_return ErrorResponse(services.error());
  const Status added =
      co_await call.daemon.services.Add(call.sandbox, std::move(*services), call.client);
  co_return Shown(added, *call.sandbox);
}

Task<Response> RestartService(Call& call) {
  const Status restarted =
      co_await call.daemon.services.Restart(call.sandbox, call.Part(3), call.client);
  co_return Shown(restarted, *call.sandbox);
}

Task<Response> ReadServiceOutput(Call& call) {
  for (const auto& service : call.sandbox->services().all())
    if (service->request.name == call.Part(3) && service->command)
      co_return OutputResponse(*service->command, call.request);
  const Error missing{Code::kNotFound, "read output: no such service has run",
                      "cloche services " + call.sandbox->id};
  co_return ErrorResponse(missing);
}

}  // namespace cloche::api
