#include <cstring>

#include "api/session.h"
#include "base/frames.h"

namespace cloche::api {
namespace {

// The payloads of one stream (or both) out of kept frames.
std::string Payloads(const std::string& frames, bool out, bool err) {
  std::string text;
  for (size_t at = 0; at + kFrameHeader <= frames.size();) {
    unsigned char bytes[kFrameHeader];
    std::memcpy(bytes, frames.data() + at, kFrameHeader);
    FrameHead head;
    if (!ParseFrameHead(bytes, head)) break;
    if ((head.type == FrameType::kStdout && out) || (head.type == FrameType::kStderr && err))
      text.append(frames, at + kFrameHeader, head.length);
    at += kFrameHeader + head.length;
  }
  return text;
}

Json WithOutput(const daemon::CommandRun& command, const std::string& frames) {
  Json json = command.ToJson();
  json["stdout"] = Payloads(frames, true, false);
  json["stderr"] = Payloads(frames, false, true);
  return json;
}

Task<Response> RunCommand(Engine& engine, const Client& client, const Request& request,
                          std::shared_ptr<daemon::Sandbox> sandbox) {
  auto body = request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  auto parsed = ParseCommandRequest(*body);
  if (!parsed) co_return ErrorResponse(parsed.error());
  if (parsed->wants_stdin || parsed->pty)
    co_return ErrorResponse({Code::kInvalid, "run command: stdin and pty need a stream",
                             "send Upgrade: cloche-stream"});
  bool background = parsed->background;
  std::shared_ptr<daemon::Sandbox> twin;
  if (parsed->fresh) {
    SandboxRequest fresh = TwinOf(sandbox->request);
    auto made = co_await engine.Create(std::move(fresh), false, client);
    if (!made) co_return ErrorResponse(made.error());
    sandbox = twin = *made;
  }
  auto command = co_await engine.Start(sandbox, std::move(*parsed), client);
  if (!command) {
    if (twin) (void)co_await engine.Discard(twin);
    co_return ErrorResponse(command.error());
  }
  if (background) {
    co_await (*command)->started_event().Wait();
    co_return JsonResponse((*command)->ToJson(), 202);
  }
  while (!(*command)->ended()) co_await (*command)->ended_event().Wait();
  co_await engine.NoteFull(sandbox, *command);
  Json result = WithOutput(**command, (*command)->output().Frames());
  if (twin) (void)co_await engine.Discard(twin);
  co_return JsonResponse(result);
}

}  // namespace

Response OutputResponse(daemon::CommandRun& command, const Request& request) {
  const std::string which = request.Query("stream");
  return {200, Payloads(command.output().Frames(), which != "stderr", which != "stdout"),
          "application/octet-stream"};
}

Task<Response> ServeCommands(Engine& engine, const Client& client, const Request& request,
                             std::shared_ptr<daemon::Sandbox> sandbox) {
  const auto& path = request.path;
  if (path.size() == 3 && request.method == "POST")
    co_return co_await RunCommand(engine, client, request, sandbox);
  if (path.size() == 3 && request.method == "GET") {
    Json list = Json::array();
    for (const auto& [number, command] : sandbox->commands())
      if (command->request().service.empty()) list.push_back(command->ToJson());
    co_return JsonResponse(list);
  }
  auto command = path.size() > 3 ? sandbox->FindCommand(path[3]) : nullptr;
  if (!command)
    co_return ErrorResponse({Code::kNotFound,
                             "find command: there is no such command in " + sandbox->id,
                             "cloche show " + sandbox->id + " tells how many ran; the first is 1"});
  if (path.size() == 4 && request.method == "GET") {
    while (request.Query("wait") == "1" && !command->ended())
      co_await command->ended_event().Wait();
    co_return JsonResponse(command->ToJson());
  }
  if (path.size() == 5 && path[4] == "output" && request.method == "GET")
    co_return OutputResponse(*command, request);
  if (path.size() == 5 && path[4] == "signal" && request.method == "POST") {
    auto body = request.ParseBody();
    if (!body) co_return ErrorResponse(body.error());
    if (!body->is_object() || !body->contains("signal") || !(*body)["signal"].is_number_integer() ||
        (*body)["signal"] < 1 || (*body)["signal"] > 64)
      co_return ErrorResponse(
          {Code::kInvalid, "signal: give a number from 1 to 64", "{\"signal\": 15}"});
    sandbox->Signal(command->number(), (*body)["signal"].get<int>());
    co_return JsonResponse(command->ToJson());
  }
  co_return ErrorResponse(
      {Code::kNotFound, "find resource: no such path or method", "see openapi.yaml"});
}

}  // namespace cloche::api
