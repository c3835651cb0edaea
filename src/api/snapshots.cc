#include "api/handlers.h"
#include "daemon/sandbox_json.h"

namespace cloche::api {
namespace {

Response Forked(const Result<daemon::Sandboxes>& forks) {
  if (!forks) return ErrorResponse(forks.error());
  Json list = Json::array();
  for (const auto& fork : *forks) list.push_back(daemon::SandboxJson(*fork));
  return JsonResponse(list, 201);
}

// From a sandbox's present state or from a snapshot.
template <typename Source>
Task<Response> Fork(Call& call, Source source) {
  auto parsed = ParseBody(call.request, ParseForkRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  auto forks =
      co_await call.daemon.time_travel.Fork(std::move(source), std::move(*parsed), call.client);
  co_return Forked(forks);
}

// The one that the path names.
Result<daemon::Snapshot> Find(const Call& call) {
  return call.daemon.snapshots.Find(call.Part(1), call.client);
}

}  // namespace

Task<Response> ListSnapshots(Call& call) {
  Json list = Json::array();
  for (const daemon::Snapshot& snapshot : call.daemon.snapshots.Of(*call.sandbox)) {
    list.push_back(snapshot.ToJson());
    list.back()["head"] = snapshot.id == call.sandbox->history().head();
  }
  co_return JsonResponse(list);
}

Task<Response> TakeSnapshot(Call& call) {
  auto parsed = ParseBody(call.request, ParseSnapshotRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  daemon::StepTimer steps;
  auto saved = co_await call.daemon.time_travel.Take(call.sandbox, std::move(*parsed),
                                                     daemon::SnapshotKind::kManual, &steps);
  if (!saved) co_return ErrorResponse(saved.error());
  Json json = saved->ToJson();
  for (const auto& [step, milliseconds] : steps.steps()) json["timing_ms"][step] = milliseconds;
  co_return JsonResponse(json, 201);
}

Task<Response> RollBack(Call& call) {
  auto parsed = ParseBody(call.request, ParseRollbackRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  auto done = co_await call.daemon.time_travel.Rollback(call.sandbox, std::move(*parsed));
  if (!done) co_return ErrorResponse(done.error());
  // Services that ran before run again, on the data of then.
  if (!call.sandbox->terms().request().services.empty()) {
    const Status woken = co_await call.daemon.lifecycle.Wake(call.sandbox, call.client);
    if (!woken) co_return ErrorResponse(woken.error());
    (*done)["services"] = daemon::ServicesJson(*call.sandbox);
  }
  co_return JsonResponse(*done);
}

Task<Response> ForkSandbox(Call& call) { co_return co_await Fork(call, call.sandbox); }

Task<Response> ShowSnapshot(Call& call) {
  const auto snapshot = Find(call);
  co_return snapshot ? JsonResponse(snapshot->ToJson()) : ErrorResponse(snapshot.error());
}

Task<Response> RenameSnapshot(Call& call) {
  const auto snapshot = Find(call);
  if (!snapshot) co_return ErrorResponse(snapshot.error());
  const auto body = call.request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  auto parsed = ParseSnapshotRequest(*body);
  if (!parsed) co_return ErrorResponse(parsed.error());
  if (!body->contains("name")) parsed->name = snapshot->name;
  const auto renamed = call.daemon.snapshots.Rename(*snapshot, *parsed);
  co_return renamed ? JsonResponse(renamed->ToJson()) : ErrorResponse(renamed.error());
}

Task<Response> RemoveSnapshot(Call& call) {
  const auto snapshot = Find(call);
  if (!snapshot) co_return ErrorResponse(snapshot.error());
  const Status dropped = co_await call.daemon.time_travel.Drop(*snapshot);
  co_return dropped ? JsonResponse(snapshot->ToJson()) : ErrorResponse(dropped.error());
}

Task<Response> ForkSnapshot(Call& call) {
  const auto snapshot = Find(call);
  if (!snapshot) co_return ErrorResponse(snapshot.error());
  co_return co_await Fork(call, *snapshot);
}

}  // namespace cloche::api
