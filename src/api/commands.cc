#include <cstring>

#include "api/handlers.h"
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

Result<int> SignalOf(const nlohmann::json& body) {
  if (!body.is_object() || !body.contains("signal") || !body["signal"].is_number_integer() ||
      body["signal"] < 1 || body["signal"] > 64)
    return Fail(Code::kInvalid, "signal: give a number from 1 to 64", "{\"signal\": 15}");
  return body["signal"].get<int>();
}

// The one that the path names.
Result<std::shared_ptr<daemon::CommandRun>> Find(const Call& call) {
  if (auto command = call.sandbox->commands().Find(call.Part(3))) return command;
  return Fail(Code::kNotFound, "find command: there is no such command in " + call.sandbox->id,
              "cloche show " + call.sandbox->id + " tells how many ran; the first is 1");
}

}  // namespace

Response OutputResponse(daemon::CommandRun& command, const Request& request) {
  const std::string which = request.Query("stream");
  return {200, Payloads(command.output().Frames(), which != "stderr", which != "stdout"),
          "application/octet-stream"};
}

Task<Response> ListCommands(Call& call) {
  Json list = Json::array();
  for (const auto& [number, command] : call.sandbox->commands().all())
    if (command->request().service.empty()) list.push_back(command->ToJson());
  co_return JsonResponse(list);
}

Task<Response> RunCommand(Call& call) {
  auto parsed = ParseBody(call.request, ParseCommandRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  if (parsed->wants_stdin || parsed->pty)
    co_return ErrorResponse({Code::kInvalid, "run command: stdin and pty need a stream",
                             "send Upgrade: cloche-stream"});
  const bool background = parsed->background;
  std::shared_ptr<daemon::Sandbox> sandbox = call.sandbox, twin;
  if (parsed->fresh) {
    SandboxRequest fresh = TwinOf(sandbox->terms().request());
    auto made = co_await call.daemon.lifecycle.Create(std::move(fresh), false, call.client);
    if (!made) co_return ErrorResponse(made.error());
    sandbox = twin = *made;
  }
  auto command = co_await call.daemon.lifecycle.Start(sandbox, std::move(*parsed), call.client);
  if (!command) {
    if (twin) (void)co_await call.daemon.lifecycle.Discard(twin);
    co_return ErrorResponse(command.error());
  }
  if (background) {
    co_await (*command)->started_event().Wait();
    co_return JsonResponse((*command)->ToJson(), 202);
  }
  while (!(*command)->ended()) co_await (*command)->ended_event().Wait();
  co_await call.daemon.commands.NoteFull(sandbox, *command);
  Json result = WithOutput(**command, (*command)->output().Frames());
  if (twin) (void)co_await call.daemon.lifecycle.Discard(twin);
  co_return JsonResponse(result);
}

Task<Response> ShowCommand(Call& call) {
  const auto command = Find(call);
  if (!command) co_return ErrorResponse(command.error());
  while (call.request.Query("wait") == "1" && !(*command)->ended())
    co_await (*command)->ended_event().Wait();
  co_return JsonResponse((*command)->ToJson());
}

Task<Response> ReadOutput(Call& call) {
  const auto command = Find(call);
  if (!command) co_return ErrorResponse(command.error());
  co_return OutputResponse(**command, call.request);
}

Task<Response> SignalCommand(Call& call) {
  const auto command = Find(call);
  if (!command) co_return ErrorResponse(command.error());
  const auto signal = ParseBody(call.request, SignalOf);
  if (!signal) co_return ErrorResponse(signal.error());
  call.sandbox->Signal((*command)->number(), *signal);
  co_return JsonResponse((*command)->ToJson());
}

}  // namespace cloche::api
