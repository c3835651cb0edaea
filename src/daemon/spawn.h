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

// The privileged helper, as the parts of the daemon see it: they send requests and await answers.
// SpawnLink is the real one; unit tests use FakeSpawn.
class Spawn {
 public:
  // A request that was sent.
  class Waiting {
   public:
    explicit Waiting(asio::io_context& io) : done(io) {}
    Event done;
    uint64_t number = 0;
    SpawnAnswer answer;
  };

  virtual ~Spawn() = default;
  virtual std::shared_ptr<Waiting> Send(SpawnRequest request, std::span<const int> fds = {}) = 0;
  virtual bool lost() const = 0;             // what it was doing may be done or not
  virtual uint32_t ready_flags() const = 0;  // kFlagAppArmor...

  static Task<SpawnAnswer> Finish(std::shared_ptr<Waiting> waiting);
  Task<SpawnAnswer> Call(SpawnOp op, const std::string& sandbox, uint32_t flags = 0,
                         std::vector<int> fds = std::vector<int>());
  Task<SpawnAnswer> Call(SpawnOp op, const std::string& sandbox, const std::string& snapshot,
                         const std::string& other = "");
  // The same in two steps: the request is under way when Begin returns.
  std::shared_ptr<Waiting> Begin(SpawnOp op, const std::string& sandbox,
                                 const std::string& snapshot = "", const std::string& other = "",
                                 uint32_t flags = 0);
};

}  // namespace cloche::daemon
