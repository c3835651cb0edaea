#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <filesystem>

#include "base/text.h"
#include "daemon/engine.h"

// Programs that run for as long as their sandbox does: started with it, awaited, started again
// when they die.
namespace cloche::daemon {
namespace {

constexpr std::chrono::seconds kPatience{60};  // until it answers
constexpr std::chrono::seconds kGoPatience{10};
constexpr uint32_t kFirstNumber = 1'000'000'000;  // commands count from 1
constexpr size_t kMostReason = 300;

// Beside us, and at the same place in every copy of this machine.
std::string ServiceProgram() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "cloche-service").string();
}

// The last line it wrote says more than a number does.
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

// Data that took the place of a mount, and that mount still shows what is below.
bool ShowsOriginal(const Sandbox& sandbox) {
  return std::ranges::any_of(sandbox.planned.plan.spec.mounts, [&](const MountOp& op) {
    if (op.kind != MountKind::kOverlay || op.read_only || op.blank || op.target == "/")
      return false;
    return std::ranges::any_of(sandbox.request.services, [&](const ServiceRequest& service) {
      return std::ranges::find(service.data, op.target) != service.data.end();
    });
  });
}

Status FirstFailure(const Sandbox& sandbox) {
  for (const auto& service : sandbox.services) {
    if (service->state == Service::State::kReady) continue;
    return Fail(
        Code::kUnavailable,
        fmt::format("start service {}: {}", service->request.name, service->reason),
        fmt::format("its output: cloche services {} {}", sandbox.id, service->request.name));
  }
  return {};
}

}  // namespace

Task<Status> Engine::Awaken(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps) {
  if (sandbox->state != Sandbox::State::kStopped) co_return Status{};
  sandbox->state = Sandbox::State::kStarting;
  Status launched = co_await Launch(sandbox, client, steps);
  if (!launched) {
    sandbox->state = Sandbox::State::kStopped;
    co_return launched;
  }
  CLOCHE_CO_TRY(Save(*sandbox));
  if (!sandbox->request.services.empty()) {
    co_await StartServices(sandbox);
    if (steps) steps->Mark("services");
  }
  co_return Status{};
}

Task<Status> Engine::AddServices(std::shared_ptr<Sandbox> sandbox,
                                 std::vector<ServiceRequest> services, Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  if (!sandbox->keep || sandbox->request.declared || !sandbox->request.base_directory.empty())
    co_return Fail(Code::kConflict,
                   "add services to " + sandbox->id + ": it is no kept copy of this machine",
                   "cloche new --with-service ... without --base and --declared");
  if (sandbox->state != Sandbox::State::kRunning && sandbox->state != Sandbox::State::kStopped)
    co_return Fail(Code::kConflict, "add services to " + sandbox->id + ": it has ended",
                   "make a new sandbox: cloche new");
  const std::vector<ServiceRequest> before = sandbox->request.services;
  for (ServiceRequest& each : services) {
    for (const ServiceRequest& other : sandbox->request.services)
      if (other.name == each.name) {
        sandbox->request.services = before;
        co_return Fail(Code::kConflict, "add service: there is a " + each.name + " already",
                       "give it another name");
      }
    each.since_ms = static_cast<uint64_t>(duration_cast<std::chrono::milliseconds>(
                                              std::chrono::system_clock::now().time_since_epoch())
                                              .count());
    sandbox->request.services.push_back(std::move(each));
  }
  if (Status saved = Save(*sandbox); !saved) {
    sandbox->request.services = before;
    co_return saved;
  }
  if (sandbox->state == Sandbox::State::kRunning && ShowsOriginal(*sandbox)) {
    std::string reason = "the data of its services takes its place";
    CLOCHE_CO_TRY(co_await StopNow(sandbox, std::move(reason), false));
  }
  CLOCHE_CO_TRY(co_await Awaken(sandbox, client, nullptr));
  co_await StartServices(sandbox);
  co_return FirstFailure(*sandbox);
}

Task<Status> Engine::Wake(std::shared_ptr<Sandbox> sandbox, Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  co_return co_await Awaken(sandbox, client, nullptr);
}

Task<Status> Engine::RestartService(std::shared_ptr<Sandbox> sandbox, std::string name,
                                    Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  const bool known = std::ranges::any_of(sandbox->request.services,
                                         [&](const auto& each) { return each.name == name; });
  if (!known)
    co_return Fail(
        Code::kNotFound,
        fmt::format("restart service: {} has no {}", sandbox->id, EscapeForTerminal(name)),
        "cloche services " + sandbox->id + " shows the ones there are");
  CLOCHE_CO_TRY(EndIfOutlived(*sandbox));
  CLOCHE_CO_TRY(co_await Awaken(sandbox, client, nullptr));
  const std::vector<std::shared_ptr<Service>> all = sandbox->services;
  for (const auto& service : all) {
    if (service->request.name != name || !service->command || service->command->ended()) continue;
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
  co_await StartServices(sandbox);
  for (const auto& service : sandbox->services)
    if (service->request.name == name && service->state != Service::State::kReady)
      co_return FirstFailure(*sandbox);
  co_return Status{};
}

Task<void> Engine::StartServices(std::shared_ptr<Sandbox> sandbox) {
  for (const ServiceRequest& each : sandbox->request.services)
    if (std::ranges::none_of(sandbox->services,
                             [&](const auto& one) { return one->request.name == each.name; }))
      sandbox->services.push_back(std::make_shared<Service>(io_, each));
  const std::vector<std::shared_ptr<Service>> all = sandbox->services;
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

Status Engine::StartService(const std::shared_ptr<Sandbox>& sandbox, Service& service) {
  Json spec = ServiceToJson(service.request);
  const Caller& caller = sandbox->planned.plan.spec.caller;
  if (sandbox->planned.plan.spec.mode == Mode::kRootless) {
    // One user is all there is.
    spec["uid"] = sandbox->planned.plan.spec.map_root ? 0 : caller.uid;
    spec["gid"] = sandbox->planned.plan.spec.map_root ? 0 : caller.gid;
    spec["groups"] = Json::array();
  }
  for (const char* key : {"name", "env", "cwd", "data", "since_ms"}) spec.erase(key);
  CommandRequest request;
  request.service = service.request.name;
  request.argv = {ServiceProgram(), "run",
                  spec.dump(-1, ' ', false, Json::error_handler_t::replace)};
  request.env = service.request.env;
  request.cwd = service.request.cwd;
  const uint32_t number = kFirstNumber + ++sandbox->service_starts;
  LogFile log;
  log.path = fmt::format("{}/daemon/logs/{}-{}.log", directories_.state, sandbox->id, number);
  log.reader = sandbox->owner;
  service.command =
      std::make_shared<CommandRun>(io_, sandbox->id, number, std::move(request),
                                   sandbox->planned.limits.output.value_or(0), std::move(log));
  service.command->on_finish = [this, owner = sandbox->owner, ended = service.command.get()] {
    if (std::string path = ended->output().log_path(); !path.empty()) logs_.Add(owner, path);
  };
  service.command->Watch(&service);
  return sandbox->Start(service.command, ImageOf(service.command->request(), *sandbox));
}

Task<void> Engine::Supervise(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<Service> service) {
  const uint64_t launch = sandbox->launches;
  const auto was_stopped = [&] {
    if (!std::exchange(service->to_be_stopped, false) && sandbox->launches == launch &&
        sandbox->state == Sandbox::State::kRunning && !sandbox->stopping)
      return false;
    service->Become(Service::State::kStopped, "it was stopped");
    return true;
  };
  for (std::chrono::milliseconds pause(200);;
       pause = std::min(pause * 2, std::chrono::milliseconds(5000))) {
    co_await MakeWay(sandbox);
    if (was_stopped()) co_return;
    if (Status started = StartService(sandbox, *service); !started) {
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
