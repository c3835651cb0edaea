#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/spawn_protocol.h"
#include "daemon/event.h"
#include "sys/fd.h"

namespace cloche::daemon {

struct SpawnAnswer {
  SpawnReply reply;
  std::vector<sys::Fd> fds;
};

// The privileged helper as the daemon's parts see it: they send requests and await answers.
// SpawnLink is the real one; unit tests use FakeSpawn.
class Spawn {
 public:
  // A pending request.
  class Waiting {
   public:
    explicit Waiting(asio::io_context& io) : done(io) {}
    Event done;
    uint64_t number = 0;
    SpawnAnswer answer;
  };

  virtual ~Spawn() = default;
  virtual std::shared_ptr<Waiting> SendRequest(SpawnRequest request, std::span<const int> fds) = 0;
  virtual bool lost() const = 0;             // whatever it was doing may be done or not
  virtual uint32_t ready_flags() const = 0;  // kFlagAppArmor...

  // `body` is a type of cloche::ask. The request has been sent when this returns.
  template <typename Body>
  std::shared_ptr<Waiting> Send(const std::string& sandbox, const Body& body,
                                std::span<const int> fds = {}) {
    return SendRequest(RequestOf(sandbox, body), fds);
  }
  static Task<SpawnAnswer> Finish(std::shared_ptr<Waiting> waiting);
  template <typename Body>
  Task<SpawnAnswer> Call(const std::string& sandbox, const Body& body,
                         std::span<const int> fds = {}) {
    return Finish(Send(sandbox, body, fds));
  }
};

}  // namespace cloche::daemon
