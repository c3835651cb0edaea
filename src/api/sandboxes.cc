#include <fmt/core.h>

#include <utility>

#include "api/session.h"
#include "policy/fields.h"

namespace cloche::api {
namespace {

constexpr size_t kMostName = 4096;

bool Matches(const daemon::Sandbox& sandbox, const Request& request) {
  for (const auto& [key, value] : request.query) {
    if (key == "agent" && sandbox.request.agent != value) return false;
    if (key == "task" && sandbox.request.task != value) return false;
    if (key == "label") {
      size_t equals = value.find('=');
      auto found = sandbox.request.labels.find(value.substr(0, equals));
      if (found == sandbox.request.labels.end()) return false;
      if (equals != std::string::npos && found->second != value.substr(equals + 1)) return false;
    }
  }
  return request.Query("all") == "1" || sandbox.state != daemon::Sandbox::State::kEnded;
}

Task<Response> Create(Engine& engine, const Client& client, const Request& request) {
  auto body = request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  auto parsed = ParseSandboxRequest(*body);
  if (!parsed) co_return ErrorResponse(parsed.error());
  auto sandbox = co_await engine.Create(std::move(*parsed), true, client);
  if (!sandbox) co_return ErrorResponse(sandbox.error());
  co_return JsonResponse((*sandbox)->ToJson(), 201);
}

// The cloche.toml that binds its promotions: of when it was made, or of when its owner said so.
Response ServeProjectFile(Engine& engine, const Request& request, daemon::Sandbox& sandbox) {
  if (request.method == "PUT") {
    auto body = request.ParseBody();
    if (!body) return ErrorResponse(body.error());
    auto text = ParseProjectFileRequest(*body);
    if (!text) return ErrorResponse(text.error());
    if (const Status pinned = engine.PinProjectFile(sandbox, std::move(*text)); !pinned)
      return ErrorResponse(pinned.error());
  } else if (request.method != "GET") {
    return ErrorResponse({Code::kInvalid, "project_file: no such method", "see openapi.yaml"});
  }
  return JsonResponse({{"id", sandbox.id},
                       {"project", sandbox.request.project},
                       {"digest", sandbox.project_file_digest},
                       {"text", sandbox.request.project_file}});
}

Status Rename(Engine& engine, const Client& client, const nlohmann::json& body,
              daemon::Sandbox& sandbox) {
  std::string name;
  FieldReader reader(body, "");
  if (reader.Find("name") == nullptr) reader.Refuse("name", "it is not there", "give the new name");
  reader.Text("name", name, kMostName);
  CLOCHE_TRY(reader.Finish());
  CLOCHE_TRY(CheckSandboxName(name));
  if (!sandbox.keep)
    return Fail(Code::kConflict, "rename " + sandbox.id + ": it goes with its command",
                "keep it: cloche run --keep, or cloche new");
  for (const auto& other : engine.List(client))
    if (other->name == name && other.get() != &sandbox)
      return Fail(Code::kConflict,
                  fmt::format("rename {}: the name {} is taken by {}", sandbox.id, name, other->id),
                  "choose another name");
  const std::string before = std::exchange(sandbox.name, name);
  sandbox.request.name = name;
  const Status saved = engine.Save(sandbox);
  if (saved) return {};
  sandbox.name = sandbox.request.name = before;
  return saved;
}

// What it takes of the machine now.
Json UsageOf(const daemon::Sandbox& sandbox) {
  const Json whole = sandbox.ToJson();
  Json usage = {{"id", sandbox.id},
                {"name", sandbox.name},
                {"state", whole["state"]},
                {"limits", whole["limits"]}};
  if (whole.contains("usage")) usage.update(whole["usage"]);
  return usage;
}

}  // namespace

Task<Response> ServeSandboxes(Engine& engine, const Client& client, const Request& request) {
  const auto& path = request.path;
  if (path.size() == 1 && request.method == "POST")
    co_return co_await Create(engine, client, request);
  if (path.size() == 1 && request.method == "GET") {
    Json list = Json::array();
    for (const auto& sandbox : engine.List(client))
      if (Matches(*sandbox, request)) list.push_back(sandbox->ToJson());
    co_return JsonResponse(list);
  }
  if (path.size() < 2)
    co_return ErrorResponse({Code::kInvalid, "sandboxes: no such method", "see openapi.yaml"});
  auto sandbox = engine.FindAny(path[1], client);
  if (!sandbox) co_return ErrorResponse(sandbox.error());
  if (path.size() == 2 && request.method == "GET") co_return JsonResponse((*sandbox)->ToJson());
  if (path.size() == 2 && request.method == "DELETE") {
    auto removed = co_await engine.Discard(*sandbox);
    if (!removed) co_return ErrorResponse(removed.error());
    Json json = (*sandbox)->ToJson();
    json["state"] = "removed";
    co_return JsonResponse(json);
  }
  if (path.size() == 3 && path[2] == "stop" && request.method == "POST") {
    Status stopped = co_await engine.Stop(*sandbox, "stopped by its owner");
    co_return stopped ? JsonResponse((*sandbox)->ToJson()) : ErrorResponse(stopped.error());
  }
  if (const Status readable = daemon::CheckReadable(**sandbox); !readable)
    co_return ErrorResponse(readable.error());
  if (path.size() == 2 && request.method == "PATCH") {
    auto body = request.ParseBody();
    if (!body) co_return ErrorResponse(body.error());
    const Status renamed = Rename(engine, client, *body, **sandbox);
    co_return renamed ? JsonResponse((*sandbox)->ToJson()) : ErrorResponse(renamed.error());
  }
  if (path.size() == 3 && path[2] == "start" && request.method == "POST") {
    if ((*sandbox)->state == daemon::Sandbox::State::kEnded) {
      Error ended{Code::kConflict, "start " + (*sandbox)->id + ": it has ended", "cloche new"};
      co_return ErrorResponse(ended);
    }
    Status started = co_await engine.Wake(*sandbox, client);
    co_return started ? JsonResponse((*sandbox)->ToJson()) : ErrorResponse(started.error());
  }
  if (path.size() == 3 && path[2] == "usage" && request.method == "GET")
    co_return JsonResponse(UsageOf(**sandbox));
  if (path.size() == 3 && path[2] == "staleness" && request.method == "GET") {
    auto stale = co_await engine.Staleness(*sandbox, client);
    co_return stale ? JsonResponse(*stale) : ErrorResponse(stale.error());
  }
  if (path.size() == 3 && path[2] == "refresh" && request.method == "POST") {
    auto stale = co_await engine.Refresh(*sandbox, client);
    co_return stale ? JsonResponse(*stale) : ErrorResponse(stale.error());
  }
  if (path.size() == 3 && path[2] == "project_file")
    co_return ServeProjectFile(engine, request, **sandbox);
  if (path.size() >= 3 && path[2] == "commands")
    co_return co_await ServeCommands(engine, client, request, *sandbox);
  if (path.size() >= 3 && path[2] == "network")
    co_return co_await ServeNetwork(engine, client, request, *sandbox);
  if (path.size() >= 3 && path[2] == "sign")
    co_return co_await ServeSigning(engine, client, request, *sandbox);
  if (path.size() >= 3 && path[2] == "services")
    co_return co_await ServeServices(engine, client, request, *sandbox);
  if (path.size() >= 3 && (path[2] == "snapshots" || path[2] == "rollback" || path[2] == "fork"))
    co_return co_await ServeSavedStates(engine, client, request, *sandbox);
  co_return ErrorResponse(
      {Code::kNotFound, "find resource: no such path or method", "see openapi.yaml"});
}

}  // namespace cloche::api
