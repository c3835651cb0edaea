#include <fmt/core.h>

#include <utility>

#include "api/handlers.h"
#include "daemon/sandbox_json.h"
#include "policy/fields.h"

namespace cloche::api {
namespace {

constexpr size_t kMostName = 4096;

bool Matches(const daemon::Sandbox& sandbox, const Request& request) {
  for (const auto& [key, value] : request.query) {
    if (key == "agent" && sandbox.terms().request().agent != value) return false;
    if (key == "task" && sandbox.terms().request().task != value) return false;
    if (key == "label") {
      size_t equals = value.find('=');
      auto found = sandbox.terms().request().labels.find(value.substr(0, equals));
      if (found == sandbox.terms().request().labels.end()) return false;
      if (equals != std::string::npos && found->second != value.substr(equals + 1)) return false;
    }
  }
  return request.Query("all") == "1" || sandbox.state() != daemon::Sandbox::State::kEnded;
}

// The cloche.toml that binds its promotions: of when it was made, or of when its owner said so.
Json ProjectFileJson(const daemon::Sandbox& sandbox) {
  return {{"id", sandbox.id},
          {"project", sandbox.terms().request().project},
          {"digest", sandbox.terms().project_file_digest()},
          {"text", sandbox.terms().request().project_file}};
}

Status Rename(Daemon& daemon, const Client& client, const nlohmann::json& body,
              daemon::Sandbox& sandbox) {
  std::string name;
  FieldReader reader(body, "");
  if (reader.Find("name") == nullptr) reader.Refuse("name", "it is not there", "give the new name");
  reader.Text("name", name, kMostName);
  CLOCHE_TRY(reader.Finish());
  CLOCHE_TRY(CheckSandboxName(name));
  if (!sandbox.terms().keep())
    return Fail(Code::kConflict, "rename " + sandbox.id + ": it goes with its command",
                "keep it: cloche run --keep, or cloche new");
  for (const auto& other : daemon.sandboxes.List(client))
    if (other->terms().name() == name && other.get() != &sandbox)
      return Fail(Code::kConflict,
                  fmt::format("rename {}: the name {} is taken by {}", sandbox.id, name, other->id),
                  "choose another name");
  std::string before = sandbox.terms().Rename(name);
  const Status saved = daemon.sandboxes.Save(sandbox);
  if (saved) return {};
  sandbox.terms().Rename(std::move(before));
  return saved;
}

// The resources that a sandbox uses now.
Json UsageOf(const daemon::Sandbox& sandbox) {
  const Json whole = daemon::SandboxJson(sandbox);
  Json usage = {{"id", sandbox.id},
                {"name", sandbox.terms().name()},
                {"state", whole["state"]},
                {"limits", whole["limits"]}};
  if (whole.contains("usage")) usage.update(whole["usage"]);
  return usage;
}

Response Shown(const Status& done, const daemon::Sandbox& sandbox) {
  return done ? JsonResponse(daemon::SandboxJson(sandbox)) : ErrorResponse(done.error());
}

}  // namespace

Task<Response> ListSandboxes(Call& call) {
  Json list = Json::array();
  for (const auto& sandbox : call.daemon.sandboxes.List(call.client))
    if (Matches(*sandbox, call.request)) list.push_back(daemon::SandboxJson(*sandbox));
  co_return JsonResponse(list);
}

Task<Response> CreateSandbox(Call& call) {
  auto parsed = ParseBody(call.request, ParseSandboxRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  auto sandbox = co_await call.daemon.lifecycle.Create(std::move(*parsed), true, call.client);
  if (!sandbox) co_return ErrorResponse(sandbox.error());
  co_return JsonResponse(daemon::SandboxJson(**sandbox), 201);
}

Task<Response> ShowSandbox(Call& call) {
  co_return JsonResponse(daemon::SandboxJson(*call.sandbox));
}

Task<Response> RenameSandbox(Call& call) {
  const auto body = call.request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  const Status renamed = Rename(call.daemon, call.client, *body, *call.sandbox);
  co_return Shown(renamed, *call.sandbox);
}

Task<Response> RemoveSandbox(Call& call) {
  auto removed = co_await call.daemon.lifecycle.Discard(call.sandbox);
  if (!removed) co_return ErrorResponse(removed.error());
  Json json = daemon::SandboxJson(*call.sandbox);
  json["state"] = "removed";
  co_return JsonResponse(json);
}

Task<Response> StartSandbox(Call& call) {
  if (call.sandbox->state() == daemon::Sandbox::State::kEnded) {
    const Error ended{Code::kConflict, "start " + call.sandbox->id + ": it has ended",
                      "cloche new"};
    co_return ErrorResponse(ended);
  }
  const Status started = co_await call.daemon.lifecycle.Wake(call.sandbox, call.client);
  co_return Shown(started, *call.sandbox);
}

Task<Response> StopSandbox(Call& call) {
  const Status stopped = co_await call.daemon.lifecycle.Stop(call.sandbox, "stopped by its owner");
  co_return Shown(stopped, *call.sandbox);
}

Task<Response> ShowUsage(Call& call) {
  const auto disk = co_await call.daemon.commands.DiskBytes(call.sandbox);
  Json usage = UsageOf(*call.sandbox);
  if (disk) usage["disk_bytes"] = *disk;
  co_return JsonResponse(usage);
}

Task<Response> ShowStaleness(Call& call) {
  co_return Reply(co_await call.daemon.changes.Staleness(call.sandbox, call.client));
}

Task<Response> RefreshSandbox(Call& call) {
  co_return Reply(co_await call.daemon.lifecycle.Refresh(call.sandbox, call.client));
}

Task<Response> ShowProjectFile(Call& call) {
  co_return JsonResponse(ProjectFileJson(*call.sandbox));
}

Task<Response> PinProjectFile(Call& call) {
  auto text = ParseBody(call.request, ParseProjectFileRequest);
  if (!text) co_return ErrorResponse(text.error());
  const Status pinned = call.daemon.promotions.PinProjectFile(*call.sandbox, std::move(*text));
  if (!pinned) co_return ErrorResponse(pinned.error());
  co_return JsonResponse(ProjectFileJson(*call.sandbox));
}

}  // namespace cloche::api
