#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/spawn_protocol.h"
#include "daemon/event.h"
#include "sys/fd.h"

namespace cloche::daemon {

struct SpawnAnswer {
  SpawnReply reply;
  std::vector<sys::Fd> fds;
};

// The socketpair to cloche-spawn, which is our child and outlives us by milliseconds at most.
class SpawnLink {
 public:
  static Result<std::unique_ptr<SpawnLink>> Start(asio::io_context& io, const std::string& program,
                                                  const std::string& state_dir);
  Task<SpawnAnswer> Ready();  // its first word: value 0, or why it cannot work here
  uint32_t ready_flags() const { return ready_reply_.flags; }  // kFlagAppArmor...
  Task<SpawnAnswer> Call(SpawnOp op, const std::string& sandbox, uint32_t flags = 0,
                         std::vector<int> fds = std::vector<int>());
  Task<SpawnAnswer> Call(SpawnOp op, const std::string& sandbox, const std::string& snapshot,
                         const std::string& other = "");
  // The same in two steps: it is under way when Begin returns.
  class Waiting;
  std::shared_ptr<Waiting> Begin(SpawnOp op, const std::string& sandbox,
                                 const std::string& snapshot = "", const std::string& other = "",
                                 uint32_t flags = 0);
  std::shared_ptr<Waiting> Send(SpawnRequest request, std::span<const int> fds = {});
  static Task<SpawnAnswer> Finish(std::shared_ptr<Waiting> waiting);
  int process() const { return process_; }
  bool lost() const { return lost_; }  // what it was doing may be done or not
  Task<void> Leave();                  // tells spawn to end everything and waits until it has
  void Serve(std::function<void(const SpawnReply&)> on_exited, std::function<void()> on_lost);

 private:
  SpawnLink(asio::io_context& io, int socket, int process)
      : io_(io), socket_(io, socket), process_(process), ready_(io), left_(io) {}
  Task<void> ReadLoop();
  void FailAll();

  asio::io_context& io_;
  asio::posix::stream_descriptor socket_;
  int process_;
  Event ready_, left_;
  SpawnReply ready_reply_{};
  uint64_t next_ = 1;
  bool lost_ = false;
  std::map<uint64_t, std::shared_ptr<Waiting>> waiting_;
  std::function<void(const SpawnReply&)> on_exited_;
  std::function<void()> on_lost_;
};

class SpawnLink::Waiting {
 public:
  explicit Waiting(asio::io_context& io) : done(io) {}
  Event done;
  uint64_t number = 0;  // of the request
  SpawnAnswer answer;
};

}  // namespace cloche::daemon
