#include "daemon/service_control.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/turn.h"

namespace cloche::daemon {
namespace {

// Whether a service's data directory is itself a mount that still shows the original.
bool ShowsOriginal(const Sandbox& sandbox) {
  return std::ranges::any_of(sandbox.terms().planned().plan.spec.mounts, [&](const MountOp& op) {
    if (op.kind != MountKind::kOverlay || op.read_only || op.blank || op.target == "/")
      return false;
    return std::ranges::any_of(
        sandbox.terms().request().services, [&](const ServiceRequest& service) {
          return std::ranges::find(service.data, op.target) != service.data.end();
        });
  });
}

Status FirstFailure(const Sandbox& sandbox) {
  for (const auto& service : sandbox.services().all()) {
    if (service->state == Service::State::kReady) continue;
    return Fail(
        Code::kUnavailable,
        fmt::format("start service {}: {}", service->request.name, service->reason),
        fmt::format("its output: cloche services {} {}", sandbox.id, service->request.name));
  }
  return {};
}

}  // namespace

Task<Status> ServiceControl::Add(std::shared_ptr<Sandbox> sandbox,
                                 std::vector<ServiceRequest> services, Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  if (!sandbox->terms().keep() || sandbox->terms().request().declared ||
      !sandbox->terms().request().base_directory.empty())
    co_return Fail(Code::kConflict,
                   "add services to " + sandbox->id + ": it is not a kept copy of this machine",
                   "cloche new --with-service ... without --base and --declared");
  if (!sandbox->has_files())
    co_return Fail(Code::kConflict,
                   "add services to " + sandbox->id + ": it is not a kept copy of this machine",
                   "cloche new --with-service ... without --base and --declared");
  if (!sandbox->has_files())
    co_return Fail(Code::kConflict, "add services to " + sandbox->id + ": it has ended",
                   "make a new sandbox: cloche new");
  std::vector<ServiceRequest> all = sandbox->terms().request().services;
  for (ServiceRequest& each : services) {
    if (std::ranges::find(all, each.name, &ServiceRequest::name) != all.end())
      co_return Fail(Code::kConflict, "add service: there is a " + each.name + " already",
                     "give it another name");
    each.since_ms = static_cast<uint64_t>(duration_cast<std::chrono::milliseconds>(
                                              std::chrono::system_clock::now().time_since_epoch())
                                              .count());
    all.push_back(std::move(each));
  }
  const std::vector<ServiceRequest> before = sandbox->terms().SetServices(std::move(all));
  if (Status saved = table_.Save(*sandbox); !saved) {
    sandbox->terms().SetServices(before);
    co_return saved;
  }
  if (sandbox->runs() && ShowsOriginal(*sandbox)) {
    std::string reason = "the data of its services takes its place";
    CLOCHE_CO_TRY(co_await launcher_.Stop(sandbox, std::move(reason), false));
  }
  CLOCHE_CO_TRY(co_await launcher_.Wake(sandbox, client, nullptr));
  co_await supervisor_.StartAll(sandbox);
  co_return FirstFailure(*sandbox);
}

Task<Status> ServiceControl::Restart(std::shared_ptr<Sandbox> sandbox, std::string name,
                                     Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  const bool known = std::ranges::any_of(sandbox->terms().request().services,
                                         [&](const auto& each) { return each.name == name; });
  if (!known)
    co_return Fail(
        Code::kNotFound,
        fmt::format("restart service: {} has no {}", sandbox->id, EscapeForTerminal(name)),
        "cloche services " + sandbox->id + " shows the ones there are");
  CLOCHE_CO_TRY(launcher_.EndIfOutlived(*sandbox));
  CLOCHE_CO_TRY(co_await launcher_.Wake(sandbox, client, nullptr));
  co_await supervisor_.Stop(sandbox, name);
  co_await supervisor_.StartAll(sandbox);
  if (const auto service = sandbox->services().Find(name);
      service && service->state != Service::State::kReady)
    co_return FirstFailure(*sandbox);
  co_return Status{};
}

}  // namespace cloche::daemon
