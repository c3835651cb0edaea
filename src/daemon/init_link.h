#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/command_image.h"
#include "base/result.h"
#include "daemon/event.h"
#include "sys/fd.h"

namespace cloche::daemon {

// The socket to one sandbox's init, open while the sandbox runs.
class InitLink {
 public:
  InitLink(asio::io_context& io, std::string sandbox)
      : io_(io), sandbox_(std::move(sandbox)), socket_(io) {}

  // For messages that are not answers to the requests below.
  using Handler = std::function<void(const InitMessage& message, std::vector<sys::Fd> fds)>;
  // `pauses`: init must stop the processes, because there is no cgroup to freeze. Takes over the
  // socket. `owner` owns this object, and lives as long as messages are read.
  void Open(int socket, bool pauses, std::shared_ptr<const void> owner, Handler handler);
  void Close();  // pending requests get no answer

  bool Send(const InitMessage& message);  // false: init is gone
  Status Start(uint32_t command, const Command& image);
  // Without a cgroup, init stops all processes until Resume. False: not necessary.
  Task<Result<bool>> Pause();
  void Resume();
  // A descriptor that init made: kSocket leads to its network namespace, kMounts is its mount
  // namespace, kListen is where programs inside ask for signatures. `what` starts the error
  // message.
  Task<Result<sys::Fd>> AskSocket(InitOp op, std::string what);
  // Asks which process has a socket at this port. The answer goes to the handler. False: init is
  // gone.
  bool AskOwner(uint16_t port);

 private:
  Task<void> Read(std::shared_ptr<const void> owner, Handler handler);
  bool TakeAnswer(const InitMessage& message, std::vector<sys::Fd>& fds);

  asio::io_context& io_;
  std::string sandbox_;
  asio::posix::stream_descriptor socket_;
  bool pauses_ = false;
  std::shared_ptr<Event> pausing_;  // set once init has answered
  bool paused_ = false;
  std::shared_ptr<Event> asked_;  // set once init has answered
  InitOp asked_op_{};
  sys::Fd answer_;
};

}  // namespace cloche::daemon
