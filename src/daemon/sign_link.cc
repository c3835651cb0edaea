#include "daemon/sign_link.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>

#include <boost/asio/co_spawn.hpp>

#include "base/error_json.h"
#include "base/text.h"
#include "sys/message.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostMessage = 64 << 10;
constexpr int kMessagesPerTurn = 64;
constexpr std::chrono::seconds kPatience{15};

}  // namespace

Status SignLink::Start(asio::io_context& io, const std::string& sandbox, const std::string& agent,
                       int owner, sys::Fd listener, const std::string& log_path) {
  sys::Fd ours, theirs;
  if (int error = sys::MakeSocketPair(ours, theirs); error < 0)
    return Fail(Code::kInternal, fmt::format("make socket: {}", strerror(-error)));
  sys::SetNonBlocking(ours.get());
  const sys::Fd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (sys::SendMessage(ours.get(), agent.data(), agent.size()) < 0)
    return Fail(Code::kInternal, "start cloche-sign: its socket takes nothing");
  sandbox_ = sandbox;
  const int fds[] = {owner, theirs.get(), listener.get(), log.get()};
  process_ = spawn_.Send(sandbox, ask::Sign(), fds);
  socket_.assign(ours.Release());
  asio::co_spawn(io, ReadLoop(shared_from_this()), kDetached);
  return {};
}

Task<void> SignLink::ReadLoop(std::shared_ptr<SignLink> self) {
  while (self->socket_.is_open()) {
    auto [error] =
        co_await self->socket_.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error || !self->socket_.is_open()) co_return;
    int taken = 0;
    while (taken < kMessagesPerTurn && self->ReceiveOne()) ++taken;
    if (!self->socket_.is_open()) co_return;
    if (taken > 0 || !sys::ReadableNow(self->socket_.native_handle())) continue;
    boost::system::error_code ignored;
    (void)self->socket_.close(ignored);
    const SpawnAnswer end = co_await Spawn::Finish(self->process_);
    std::string why = end.reply.value == 0 ? "cloche-sign ended" : end.reply.operation;
    if (*end.reply.detail != '\0') why += fmt::format(" ({})", end.reply.detail);
    self->changed_.Pulse();
    if (self->on_death) self->on_death(why);
    co_return;
  }
}

bool SignLink::ReceiveOne() {
  static char text[kMostMessage];
  if (!socket_.is_open()) return false;
  int none = 0;
  const long got = sys::ReceiveMessage(socket_.native_handle(), text, sizeof text, {}, none, true);
  if (got == -EMSGSIZE) return true;
  if (got <= 0) return false;
  Handle(std::string(text, static_cast<size_t>(got)));
  return true;
}

void SignLink::Drain() {
  for (int left = kMessagesPerTurn; left > 0 && ReceiveOne(); --left) {
  }
}

// It reads what programs inside send, so its messages are not trusted.
void SignLink::Handle(const std::string& text) {
  Json event = Json::parse(text, nullptr, false);
  if (!event.is_object() || !event.contains("event")) return;
  if (event["event"] == "signature") {
    if (on_signature) on_signature(event);
    return;
  }
  const auto number = event.find("number");
  if (number == event.end() || !number->is_number_unsigned()) return;
  answered_ = number->get<uint64_t>();
  answer_ = std::move(event);
  changed_.Pulse();
}

Task<Result<Json>> SignLink::SetKeys(Json keys, uint64_t per_minute) {
  const uint64_t number = ++asked_;
  const Json message = {{"number", number}, {"keys", std::move(keys)}, {"per_minute", per_minute}};
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  asio::steady_timer patience(socket_.get_executor(), deadline);
  const auto self = shared_from_this();
  patience.async_wait([self](boost::system::error_code error) {
    if (!error) self->changed_.Pulse();
  });
  if (open() && sys::SendMessage(socket_.native_handle(), text.data(), text.size()) > 0)
    while (open() && answered_ != number && std::chrono::steady_clock::now() < deadline)
      co_await changed_.Wait();
  if (answered_ != number) {
    // It does not listen: revoked keys must stop working.
    Close();
    co_return Fail(Code::kUnavailable, "let sign: cloche-sign does not answer",
                   "is cloche-sign installed beside cloched?");
  }
  if (answer_.contains("error")) co_return std::unexpected(ErrorFromJson(answer_["error"]));
  const auto known = answer_.find("keys");
  if (known == answer_.end() || !known->is_array())
    co_return Fail(Code::kInternal, "let sign: cloche-sign says nothing of keys");
  Json made = *known;
  co_return made;
}

void SignLink::Close() {
  if (!open()) return;
  Drain();
  boost::system::error_code ignored;
  (void)socket_.close(ignored);  // it reads the end and exits
  changed_.Pulse();
  if (!process_ || process_->done.is_set()) return;
  (void)spawn_.Send(sandbox_, ask::EndJob{process_->number});
}

}  // namespace cloche::daemon
