#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "daemon/command_run.h"
#include "daemon/event.h"
#include "policy/service_request.h"

namespace cloche::daemon {

// One service of a sandbox. cloche-service runs it as a command and reports when it answers.
class Service : public Watcher {
 public:
  enum class State { kStopped, kStarting, kReady, kFailed };

  Service(asio::io_context& io, ServiceRequest request_in)
      : request(std::move(request_in)), changed(io) {}

  const ServiceRequest request;
  State state = State::kStopped;
  std::string reason;  // why it is not running
  uint64_t restarts = 0;
  bool to_be_stopped = false;
  std::shared_ptr<CommandRun> command;  // the last one
  Event changed;                        // pulsed on every change of state

  void Become(State next, std::string why = "");
  // It has died: whether to start it again. Not if it keeps dying.
  bool MayRestart();
  void Describe(Json& json) const;

  // Watcher.
  void Deliver(std::string frames) override;
  size_t Backlog() const override { return 0; }
  bool Foreground() const override { return false; }

 private:
  std::deque<std::chrono::steady_clock::time_point> deaths_;
};

// The services of one sandbox, once started.
class ServiceList {
 public:
  const std::vector<std::shared_ptr<Service>>& all() const { return services_; }
  std::shared_ptr<Service> Find(const std::string& name) const {  // null: never started
    for (const auto& each : services_)
      if (each->request.name == name) return each;
    return nullptr;
  }
  void Add(std::shared_ptr<Service> service) { services_.push_back(std::move(service)); }
  uint32_t CountStart() { return ++starts_; }  // of any of them

 private:
  std::vector<std::shared_ptr<Service>> services_;
  uint32_t starts_ = 0;
};

}  // namespace cloche::daemon
