#include "daemon/supervisor.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <filesystem>

#include "base/text.h"

namespace cloche::daemon {
namespace {

constexpr std::chrono::seconds kPatience{60};  // until it answers
constexpr std::chrono::seconds kGoPatience{10};
constexpr uint32_t kFirstNumber = 1'000'000'000;  // commands count from 1
constexpr size_t kMostReason = 300;

// Beside us, and at the same path in every copy of this machine.
std::string ServiceProgram() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "cloche-service").string();
}

// The last line it wrote says more than an exit status.
std::string LastLine(CommandRun& command) {
  const std::string frames = command.output().Frames();
  std::string text;
  for (size_t at = 0; at + kFrameHeader <= frames.size();) {
    unsigned char bytes[kFrameHeader];
    std::copy_n(frames.begin() + static_cast<ptrdiff_t>(at), kFrameHeader, bytes);
    FrameHead head;
    if (!ParseFrameHead(bytes, head)) break;
    if (head.type == FrameType::kStderr) text.append(frames, at + kFrameHeader, head.length);
    at += kFrameHeader + head.length;
  }
  while (text.ends_with('\n')) text.pop_back();
  text.erase(0, text.find_last_of('\n') + 1);
  return EscapeForTerminal(text.substr(0, kMostReason));
}

std::string DescribeEnd(CommandRun& command) {
  std::string text = command.error()
                         ? command.error()->message
                         : fmt::format("it ended with status {}", command.exit_status());
  if (const std::string line = LastLine(command); !line.empty()) text += ": " + line;
  return text;
}

}  // namespace

Task<void> Supervisor::StartAll(std::shared_ptr<Sandbox> sandbox) {
  for (const ServiceRequest& each : sandbox->terms().request().services)
    if (!sandbox->services().Find(each.name))
      sandbox->services().Add(std::make_shared<Service>(io_, each));
  const std::vector<std::shared_ptr<Service>> all = sandbox->services().all();
  for (const auto& service : all) {
    if (service->state == Service::State::kStarting || service->state == Service::State::kReady)
      continue;
    service->Become(Service::State::kStarting, "it does not answer yet");
    asio::co_spawn(io_, Supervise(sandbox, service), kDetached);
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (const auto& service : all) {
    asio::steady_timer patience(io_, deadline);
    patience.async_wait([service](boost::system::error_code error) {
      if (!error) service->changed.Pulse();
    });
    while (service->state == Service::State::kStarting &&
           std::chrono::steady_clock::now() < deadline)
      co_await service->changed.Wait();
  }
}

Task<void> Supervisor::Stop(std::shared_ptr<Sandbox> sandbox, std::string name) {
  const std::shared_ptr<Service> service = sandbox->services().Find(name);
  if (!service || !service->command || service->command->ended()) co_return;
  const std::shared_ptr<CommandRun> command = service->command;
  service->to_be_stopped = true;
  sandbox->Signal(command->number(), SIGTERM);
  asio::steady_timer patience(io_, kGoPatience);
  patience.async_wait([sandbox, command](boost::system::error_code error) {
    if (!error) sandbox->Signal(command->number(), SIGKILL);
  });
  while (!command->ended()) co_await command->ended_event().Wait();
  while (service->to_be_stopped) co_await service->changed.Wait();
}

Status Supervisor::Start(const std::shared_ptr<Sandbox>& sandbox, Service& service) {
  Json spec = ServiceToJson(service.request);
  const Caller& caller = sandbox->terms().planned().plan.spec.caller;
  if (sandbox->terms().planned().plan.spec.mode == Mode::kRootless) {
    // There is only one user inside.
    spec["uid"] = sandbox->terms().planned().plan.spec.map_root ? 0 : caller.uid;
    spec["gid"] = sandbox->terms().planned().plan.spec.map_root ? 0 : caller.gid;
    spec["groups"] = Json::array();
  }
  for (const char* key : {"name", "env", "cwd", "data", "since_ms"}) spec.erase(key);
  CommandRequest request;
  request.service = service.request.name;
  request.argv = {ServiceProgram(), "run",
                  spec.dump(-1, ' ', false, Json::error_handler_t::replace)};
  request.env = service.request.env;
  request.cwd = service.request.cwd;
  const uint32_t number = kFirstNumber + sandbox->services().CountStart();
  service.command = commands_.MakeService(*sandbox, number, std::move(request));
  service.command->Watch(&service);
  return sandbox->Start(service.command, ImageOf(service.command->request(), *sandbox));
}

Task<void> Supervisor::Supervise(std::shared_ptr<Sandbox> sandbox,
                                 std::shared_ptr<Service> service) {
  const uint64_t launch = sandbox->life();
  const auto was_stopped = [&] {
    if (!std::exchange(service->to_be_stopped, false) && sandbox->life() == launch &&
        sandbox->runs() && !sandbox->stopping())
      return false;
    service->Become(Service::State::kStopped, "it was stopped");
    return true;
  };
  for (std::chrono::milliseconds pause(200);;
       pause = std::min(pause * 2, std::chrono::milliseconds(5000))) {
    co_await commands_.MakeWay(sandbox);
    if (was_stopped()) co_return;
    if (Status started = Start(sandbox, *service); !started) {
      service->Become(Service::State::kFailed, started.error().message);
      co_return;
    }
    const std::shared_ptr<CommandRun> command = service->command;
    while (!command->ended()) co_await command->ended_event().Wait();
    command->Unwatch(service.get());
    const bool served = service->state == Service::State::kReady;
    if (was_stopped()) co_return;
    std::string why = DescribeEnd(*command);
    if (!served || !service->MayRestart()) {
      service->Become(Service::State::kFailed, std::move(why));
      co_return;
    }
    service->Become(Service::State::kStarting, std::move(why));
    asio::steady_timer timer(io_, pause);
    co_await timer.async_wait(kAwait);
    if (was_stopped()) co_return;
    ++service->restarts;
  }
}

}  // namespace cloche::daemon
