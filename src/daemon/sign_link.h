#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/event.h"
#include "daemon/spawn.h"
#include "sys/fd.h"

namespace cloche::daemon {

// The cloche-sign of one sandbox. It ends with the sandbox; if it dies, nothing is signed any more.
class SignLink : public std::enable_shared_from_this<SignLink> {
 public:
  SignLink(asio::io_context& io, Spawn& spawn) : spawn_(spawn), socket_(io), changed_(io) {}

  std::function<void(const Json& event)> on_signature;
  std::function<void(const std::string& why)> on_death;

  // `owner` is a socket of the sandbox's owner; `listener` is passed on.
  Status Start(asio::io_context& io, const std::string& sandbox, const std::string& agent,
               int owner, sys::Fd listener, const std::string& log_path);
  // Returns these keys' details once they, and no others, are in force.
  Task<Result<Json>> SetKeys(Json keys, uint64_t per_minute);
  void Drain();  // reads the messages it has already sent
  void Close();
  bool open() const { return socket_.is_open(); }

 private:
  static Task<void> ReadLoop(std::shared_ptr<SignLink> self);
  bool ReceiveOne();  // false: nothing more, for now or for good
  void Handle(const std::string& text);

  Spawn& spawn_;
  asio::posix::stream_descriptor socket_;
  Event changed_;  // pulsed when it answered or died
  std::shared_ptr<Spawn::Waiting> process_;
  std::string sandbox_;
  uint64_t asked_ = 0, answered_ = 0;
  Json answer_;
};

}  // namespace cloche::daemon
