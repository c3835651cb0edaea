#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/spawn.h"

namespace cloche::daemon {

// The socketpair to cloche-spawn, our child, which outlives us by milliseconds at most.
class SpawnLink : public Spawn {
 public:
  static Result<std::unique_ptr<SpawnLink>> Start(asio::io_context& io, const std::string& program,
                                                  const std::string& state_dir);
  Task<SpawnAnswer> Ready();  // its first message: value 0, or why it cannot work here
  uint32_t ready_flags() const override { return ready_reply_.flags; }
  std::shared_ptr<Waiting> SendRequest(SpawnRequest request, std::span<const int> fds) override;
  int process() const { return process_; }
  bool lost() const override { return lost_; }
  Task<void> Leave();  // tells spawn to end everything, and waits
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

}  // namespace cloche::daemon
