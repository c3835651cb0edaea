#include "daemon/init_link.h"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>

#include <boost/asio/co_spawn.hpp>

#include "sys/message.h"
#include "sys/process.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

constexpr std::chrono::seconds kPatience{5};  // an init that does not answer is ended later

InitMessage MessageOf(InitOp op) {
  InitMessage message{};
  message.op = op;
  return message;
}

void SetLater(asio::steady_timer& timer, const std::shared_ptr<Event>& event) {
  timer.async_wait([event](boost::system::error_code error) {
    if (!error) event->Set();
  });
}

}  // namespace

void InitLink::Open(int socket, bool pauses, std::shared_ptr<const void> owner, Handler handler) {
  pauses_ = pauses;
  sys::SetNonBlocking(socket);
  socket_.assign(socket);
  asio::co_spawn(io_, Read(std::move(owner), std::move(handler)), kDetached);
}

void InitLink::Close() {
  boost::system::error_code ignored;
  (void)socket_.close(ignored);
  if (pausing_) pausing_->Set();
  if (asked_) asked_->Set();
}

bool InitLink::Send(const InitMessage& message) {
  return socket_.is_open() &&
         sys::SendMessage(socket_.native_handle(), &message, sizeof message) > 0;
}

Status InitLink::Start(uint32_t command, const Command& image) {
  std::string bytes = EncodeCommand(image);
  sys::Fd memory;
  if (bytes.size() > kInlineImage) {
    memory = sys::Fd(sys::SealedMemfd("command", bytes.data(), bytes.size()));
    if (!memory.valid())
      return Fail(Code::kInternal, fmt::format("make command image: {}", strerror(-memory.get())));
    bytes.clear();
  }
  InitMessage message = MessageOf(InitOp::kExec);
  message.command = command;
  bytes.insert(0, reinterpret_cast<const char*>(&message), sizeof message);
  const int fds[] = {memory.get()};
  const long sent = socket_.is_open()
                        ? sys::SendMessage(socket_.native_handle(), bytes.data(), bytes.size(),
                                           std::span(fds, memory.valid() ? 1 : 0))
                        : -EPIPE;
  if (sent >= 0) return {};
  return Fail(Code::kUnavailable,
              fmt::format("reach the sandbox's init: {}", strerror(static_cast<int>(-sent))),
              "start it again");
}

Task<Result<bool>> InitLink::Pause() {
  if (!pauses_ || !socket_.is_open()) co_return false;
  paused_ = false;
  pausing_ = std::make_shared<Event>(io_);
  const std::shared_ptr<Event> answered = pausing_;
  asio::steady_timer patience(io_, kPatience);
  SetLater(patience, answered);
  if (Send(MessageOf(InitOp::kPause))) co_await answered->Wait();
  patience.cancel();
  pausing_.reset();
  if (paused_) co_return true;
  co_return Fail(Code::kUnavailable, "save " + sandbox_ + ": its processes could not be stopped",
                 "try again, or stop it first: cloche stop " + sandbox_);
}

void InitLink::Resume() { (void)Send(MessageOf(InitOp::kResume)); }

Task<Result<sys::Fd>> InitLink::AskSocket(InitOp op, std::string what) {
  while (asked_) {  // one at a time
    const std::shared_ptr<Event> other = asked_;
    co_await other->Wait();
    if (asked_ == other) asked_.reset();
  }
  const std::shared_ptr<Event> answered = std::make_shared<Event>(io_);
  asked_ = answered;
  asked_op_ = op;
  asio::steady_timer patience(io_, kPatience);
  SetLater(patience, answered);
  if (Send(MessageOf(op))) co_await answered->Wait();
  answered->Set();
  if (asked_ == answered) asked_.reset();
  sys::Fd made = std::move(answer_);
  if (!made.valid())
    co_return Fail(Code::kUnavailable,
                   fmt::format("{} of {}: its init gives no socket", what, sandbox_), "try again");
  co_return made;
}

bool InitLink::AskOwner(uint16_t port) {
  InitMessage message = MessageOf(InitOp::kOwner);
  message.value = port;
  return Send(message);
}

Task<void> InitLink::Read([[maybe_unused]] std::shared_ptr<const void> owner, Handler handler) {
  while (socket_.is_open()) {
    auto [error] = co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error) co_return;
    while (socket_.is_open()) {
      InitMessage message{};
      int fds[3];
      int fd_count = 0;
      const long got = sys::ReceiveMessage(socket_.native_handle(), &message, sizeof message, fds,
                                           fd_count, true);
      if (got == -EAGAIN) break;
      std::vector<sys::Fd> owned;
      for (int i = 0; i < fd_count; ++i) owned.emplace_back(fds[i]);
      if (got != static_cast<long>(sizeof message)) co_return;  // spawn reports how it ended
      if (!TakeAnswer(message, owned)) handler(message, std::move(owned));
    }
  }
}

// Drops an answer that comes too late; processes stopped too late are resumed.
bool InitLink::TakeAnswer(const InitMessage& message, std::vector<sys::Fd>& fds) {
  switch (message.op) {
    case InitOp::kPaused:
      if (pausing_) {
        paused_ = message.value == 1;
        pausing_->Set();
      } else if (message.value == 1) {
        Resume();
      }
      return true;
    case InitOp::kSocket:
    case InitOp::kMounts:
    case InitOp::kListen:
      if (!asked_ || message.op != asked_op_) return true;
      if (!fds.empty()) answer_ = std::move(fds[0]);
      asked_->Set();
      return true;
    default:
      return false;
  }
}

}  // namespace cloche::daemon
