#include "api/session.h"

namespace cloche::api {
namespace {

Response Answer(const Status& done, const daemon::Sandbox& sandbox) {
  return done ? JsonResponse(sandbox.ServicesJson()) : ErrorResponse(done.error());
}

}  // namespace

Task<Response> ServeServices(Engine& engine, const Client& client, const Request& request,
                             std::shared_ptr<daemon::Sandbox> sandbox) {
  const auto& path = request.path;
  if (path.size() == 3 && request.method == "GET") co_return JsonResponse(sandbox->ServicesJson());
  if (path.size() == 3 && request.method == "POST") {
    auto body = request.ParseBody();
    if (!body) co_return ErrorResponse(body.error());
    auto services = ParseServices(*body);
    if (!services) co_return ErrorResponse(services.error());
    const Status added = co_await engine.AddServices(sandbox, std::move(*services), client);
    co_return Answer(added, *sandbox);
  }
  if (path.size() == 5 && path[4] == "restart" && request.method == "POST") {
    const Status restarted = co_await engine.RestartService(sandbox, path[3], client);
    co_return Answer(restarted, *sandbox);
  }
  if (path.size() == 5 && path[4] == "output" && request.method == "GET") {
    for (const auto& service : sandbox->services)
      if (service->request.name == path[3] && service->command)
        co_return OutputResponse(*service->command, request);
    co_return ErrorResponse({Code::kNotFound, "read output: no such service has run",
                             "cloche services " + sandbox->id});
  }
  co_return ErrorResponse(
      {Code::kNotFound, "find resource: no such path or method", "see openapi.yaml"});
}

}  // namespace cloche::api
