#include "api/session.h"

namespace cloche::api {
namespace {

Response NoSuchResource() {
  return ErrorResponse(
      {Code::kNotFound, "find resource: no such path or method", "see openapi.yaml"});
}

Task<Response> Save(Engine& engine, const Request& request,
                    std::shared_ptr<daemon::Sandbox> sandbox) {
  auto body = request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  auto parsed = ParseSnapshotRequest(*body);
  if (!parsed) co_return ErrorResponse(parsed.error());
  daemon::StepTimer steps;
  auto saved = co_await engine.TakeSnapshot(sandbox, std::move(*parsed),
                                            daemon::SnapshotKind::kManual, &steps);
  if (!saved) co_return ErrorResponse(saved.error());
  Json json = saved->ToJson();
  for (const auto& [step, milliseconds] : steps.steps()) json["timing_ms"][step] = milliseconds;
  co_return JsonResponse(json, 201);
}

Response Forked(const Result<Engine::Sandboxes>& forks) {
  if (!forks) return ErrorResponse(forks.error());
  Json list = Json::array();
  for (const auto& fork : *forks) list.push_back(fork->ToJson());
  return JsonResponse(list, 201);
}

// From a sandbox's present state or from a snapshot.
template <typename Source>
Task<Response> Fork(Engine& engine, const Client& client, const Request& request, Source source) {
  auto body = request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  auto parsed = ParseForkRequest(*body);
  if (!parsed) co_return ErrorResponse(parsed.error());
  auto forks = co_await engine.Fork(std::move(source), std::move(*parsed), client);
  co_return Forked(forks);
}

}  // namespace

Task<Response> ServeSavedStates(Engine& engine, const Client& client, const Request& request,
                                std::shared_ptr<daemon::Sandbox> sandbox) {
  const std::string& what = request.path[2];
  if (request.path.size() != 3) co_return NoSuchResource();
  if (what == "snapshots" && request.method == "GET") {
    Json list = Json::array();
    for (const daemon::Snapshot& snapshot : engine.SnapshotsOf(*sandbox)) {
      list.push_back(snapshot.ToJson());
      list.back()["head"] = snapshot.id == sandbox->head;
    }
    co_return JsonResponse(list);
  }
  if (request.method != "POST") co_return NoSuchResource();
  if (what == "snapshots") co_return co_await Save(engine, request, sandbox);
  if (what == "fork") co_return co_await Fork(engine, client, request, sandbox);
  auto body = request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  auto parsed = ParseRollbackRequest(*body);
  if (!parsed) co_return ErrorResponse(parsed.error());
  auto done = co_await engine.Rollback(sandbox, std::move(*parsed));
  if (!done) co_return ErrorResponse(done.error());
  // What ran before runs again, on the data of then.
  if (!sandbox->request.services.empty()) {
    const Status woken = co_await engine.Wake(sandbox, client);
    if (!woken) co_return ErrorResponse(woken.error());
    (*done)["services"] = sandbox->ServicesJson();
  }
  co_return JsonResponse(*done);
}

Task<Response> ServeSnapshots(Engine& engine, const Client& client, const Request& request) {
  const auto& path = request.path;
  if (path.size() != 2 && path.size() != 3) co_return NoSuchResource();
  auto snapshot = engine.FindSnapshot(path[1], client);
  if (!snapshot) co_return ErrorResponse(snapshot.error());
  if (path.size() == 3) {
    if (path[2] != "fork" || request.method != "POST") co_return NoSuchResource();
    co_return co_await Fork(engine, client, request, *snapshot);
  }
  if (request.method == "GET") co_return JsonResponse(snapshot->ToJson());
  if (request.method == "DELETE") {
    Status dropped = co_await engine.DropSnapshot(*snapshot);
    co_return dropped ? JsonResponse(snapshot->ToJson()) : ErrorResponse(dropped.error());
  }
  if (request.method != "PATCH") co_return NoSuchResource();
  auto body = request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  auto parsed = ParseSnapshotRequest(*body);
  if (!parsed) co_return ErrorResponse(parsed.error());
  if (!body->contains("name")) parsed->name = snapshot->name;
  auto renamed = engine.RenameSnapshot(*snapshot, *parsed);
  co_return renamed ? JsonResponse(renamed->ToJson()) : ErrorResponse(renamed.error());
}

}  // namespace cloche::api
