#include "api/stream.h"

#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

#include "base/error_json.h"
#include "base/text.h"

namespace cloche::api {
namespace {

constexpr size_t kInputBacklog = 1 << 20;
constexpr std::chrono::milliseconds kLinger{2};
constexpr int kHangUp = 1, kKill = 9;

}  // namespace

Stream::Stream(Daemon& daemon, Socket socket, Client client, beast::flat_buffer buffer,
               std::shared_ptr<Guest> guest)
    : daemon_(daemon),
      socket_(std::move(socket)),
      client_(client),
      guest_(std::move(guest)),
      received_(static_cast<const char*>(buffer.data().data()), buffer.size()),
      moved_(daemon.io),
      linger_(daemon.io, kLinger),
      written_(daemon.io),
      gone_event_(daemon.io) {}

Stream::~Stream() {
  if (command_) command_->Unwatch(this);
}

void Stream::Deliver(std::string frames) {
  if (gone_) return;
  pending_ += frames;
  moved_.Pulse();
  if (!frames.empty() && frames[0] != static_cast<char>(FrameType::kStarted)) Hurry();
}

void Stream::Hurry() {
  news_ = true;
  linger_.cancel();
}

void Stream::SwitchProtocols() {
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: cloche-stream\r\n\r\n";
  pending_.insert(0, kAnswer);
  asio::co_spawn(daemon_.io, WriteLoop(shared_from_this()), daemon::kDetached);
  asio::co_spawn(daemon_.io, ReadLoop(shared_from_this()), daemon::kDetached);
}

Task<void> Stream::WriteLoop([[maybe_unused]] std::shared_ptr<Stream> self) {
  // Clients wait for output, not for the news that the command has started. Sending the news with
  // what comes next, if that comes soon, saves both sides a turn of the CPU.
  if (!news_) co_await linger_.async_wait(daemon::kAwait);
  for (;;) {
    while (pending_.empty() && !closing_ && !gone_) co_await moved_.Wait();
    if (gone_ || (pending_.empty() && closing_)) break;
    std::string part = std::move(pending_);
    pending_.clear();
    writing_ = part.size();
    auto [error, size] = co_await asio::async_write(socket_, asio::buffer(part), daemon::kAwait);
    writing_ = 0;
    if (pending_.empty()) replayed_ = Hold();
    written_.Pulse();
    if (error) {
      gone_ = true;
      gone_event_.Set();
      break;
    }
  }
  written_.Pulse();
}

Task<void> Stream::ReadLoop([[maybe_unused]] std::shared_ptr<Stream> self) {
  static char chunk[64 << 10];  // one for all: read and handed on in one step
  boost::system::error_code failed;
  (void)socket_.non_blocking(true, failed);
  for (;;) {
    while (received_.size() >= kFrameHeader) {
      unsigned char bytes[kFrameHeader];
      std::memcpy(bytes, received_.data(), kFrameHeader);
      FrameHead head;
      if (!ParseFrameHead(bytes, head)) goto gone;  // not our protocol: hang up
      if (received_.size() < kFrameHeader + head.length) break;
      std::string payload = received_.substr(kFrameHeader, head.length);
      received_.erase(0, kFrameHeader + head.length);
      if (!Handle(head.type, std::move(payload))) goto gone;
    }
    while (InputIsBehind()) {
      asio::steady_timer pause(daemon_.io, std::chrono::milliseconds(2));
      co_await pause.async_wait(daemon::kAwait);
    }
    auto [error] = co_await socket_.async_wait(Socket::wait_read, daemon::kAwait);
    if (error) break;
    size_t got = socket_.read_some(asio::buffer(chunk), failed);
    if (failed == asio::error::would_block) continue;
    if (failed) break;
    received_.append(chunk, got);
  }
gone:
  gone_ = true;
  gone_event_.Set();
  moved_.Pulse();
  Hurry();
  if (command_) command_->ended_event().Pulse();
}

// Clients wait while they send faster than the command reads, or before it has started.
bool Stream::InputIsBehind() const {
  if (gone_ || closing_) return false;
  const size_t most = kInputBacklog / guest_->Crowding();
  if (!command_) return early_input_.size() > most;
  return !command_->ended() && command_->InputBacklog() > most;
}

bool Stream::Handle(FrameType type, std::string payload) {
  // Input that comes before the command has started waits in it.
  switch (type) {
    case FrameType::kStdin:
      if (command_)
        command_->WriteInput(std::move(payload));
      else
        early_input_ += payload;
      return true;
    case FrameType::kStdinEnd:
      if (command_)
        command_->CloseInput();
      else
        early_end_ = true;
      return true;
    case FrameType::kResize:
      if (payload.size() != 4) return false;
      if (command_)
        command_->Resize(static_cast<uint16_t>(static_cast<uint8_t>(payload[0]) << 8 |
                                               static_cast<uint8_t>(payload[1])),
                         static_cast<uint16_t>(static_cast<uint8_t>(payload[2]) << 8 |
                                               static_cast<uint8_t>(payload[3])));
      return true;
    case FrameType::kSignal:
      if (payload.size() != 1 || payload[0] < 1 || payload[0] > 64) return false;
      if (sandbox_ && command_) sandbox_->Signal(command_->number(), payload[0]);
      return true;
    default:
      return false;
  }
}

Task<void> Stream::Flush() {
  closing_ = true;
  moved_.Pulse();
  Hurry();
  while ((!pending_.empty() || writing_ > 0) && !gone_) co_await written_.Wait();
}

Task<void> Stream::Finish(const Json& result) {
  if (!closing_) {
    std::string frame;
    AppendFrame(frame, FrameType::kResult,
                result.dump(-1, ' ', false, Json::error_handler_t::replace));
    Deliver(frame);
    co_await Flush();
  }
  boost::system::error_code ignored;
  (void)socket_.shutdown(Socket::shutdown_both, ignored);
  (void)socket_.close(ignored);
}

Task<void> Stream::Refuse(const Error& error) {
  const Json result = {{"error", ErrorJson(error)}};
  co_await Finish(result);
}

Task<void> Stream::Run(Request& request) {
  SwitchProtocols();
  auto body = request.ParseBody();
  if (!body) co_return co_await Refuse(body.error());
  auto parsed = ParseRunRequest(*body);
  if (!parsed) co_return co_await Refuse(parsed.error());
  *body = nullptr;
  request = Request();  // the command may run for days
  Status done = co_await RunDisposable(std::move(*parsed));
  if (!done) co_await Refuse(done.error());
}

Task<Status> Stream::RunDisposable(RunRequest request) {
  daemon::StepTimer steps;
  steps.Add(
      "read request",
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began_).count());
  daemon::FirstCommand first;
  first.request = std::move(request.command);
  first.watcher = this;
  auto sandbox = co_await daemon_.lifecycle.Create(std::move(request.sandbox), request.keep,
                                                   client_, &steps, &first);
  if (!sandbox) co_return std::unexpected(sandbox.error());
  sandbox_ = *sandbox;
  command_ = first.command;
  command_->steps() = std::move(steps);
  TakeEarlyInput();
  co_await Follow(sandbox_, command_);
  bool started = command_->state() != daemon::CommandRun::State::kFailed;
  if (request.keep && started) {
    co_await daemon_.commands.NoteFull(sandbox_, command_);
    command_->AddResult("changes", {{"kept", true}});
    command_->AddResult("name", sandbox_->terms().name());
  } else {
    auto changes = co_await daemon_.lifecycle.Discard(sandbox_, command_);
    if (changes) command_->AddResult("changes", *changes);
  }
  command_->steps().Mark("kill and count changes");
  co_await Finish(command_->ToJson());
  co_return Status{};
}

void Stream::TakeEarlyInput() {
  if (!early_input_.empty()) command_->WriteInput(std::move(early_input_));
  if (early_end_) command_->CloseInput();
}

// Until the command ended; a client that goes away takes a foreground command with it.
Task<void> Stream::Follow(std::shared_ptr<daemon::Sandbox> sandbox,
                          std::shared_ptr<daemon::CommandRun> command) {
  while (!command->ended() && !gone_) co_await command->ended_event().Wait();
  if (!command->ended() && foreground_) {
    sandbox->Signal(command->number(), kHangUp);
    sandbox->Signal(command->number(), kKill);
    while (!command->ended()) co_await command->ended_event().Wait();
  }
}

Task<void> Stream::Exec(Request& request) {
  SwitchProtocols();
  auto sandbox = daemon_.sandboxes.Find(request.path[1], client_);
  if (!sandbox) co_return co_await Refuse(sandbox.error());
  auto body = request.ParseBody();
  if (!body) co_return co_await Refuse(body.error());
  auto parsed = ParseCommandRequest(*body);
  if (!parsed) co_return co_await Refuse(parsed.error());
  *body = nullptr;
  request = Request();
  Status done = daemon::CheckAgent(**sandbox, *parsed);
  if (!done) co_return co_await Refuse(done.error());
  if (parsed->fresh) {
    RunRequest fresh;
    fresh.sandbox = TwinOf((*sandbox)->terms().request());
    fresh.command = std::move(*parsed);
    done = co_await RunDisposable(std::move(fresh));
  } else {
    done = co_await RunIn(*sandbox, std::move(*parsed));
  }
  if (!done) co_await Refuse(done.error());
}

Task<Status> Stream::RunIn(std::shared_ptr<daemon::Sandbox> sandbox, CommandRequest request) {
  sandbox_ = sandbox;
  bool background = request.background;
  auto command = co_await daemon_.lifecycle.Start(sandbox, std::move(request), client_, this);
  if (!command) co_return std::unexpected(command.error());
  command_ = *command;
  TakeEarlyInput();
  if (background)
    co_await command_->started_event().Wait();
  else
    co_await Follow(sandbox, command_);
  if (!background) co_await daemon_.commands.NoteFull(sandbox, command_);
  co_await Finish(command_->ToJson());
  co_return Status{};
}

Task<void> Stream::Attach(Request& request) {
  SwitchProtocols();
  foreground_ = false;
  auto sandbox = daemon_.sandboxes.Find(request.path[1], client_);
  if (!sandbox) co_return co_await Refuse(sandbox.error());
  auto command = (*sandbox)->commands().Find(request.path[3]);
  if (!command) {
    // A named error: g++ 12 destroys a braced temporary inside co_await twice.
    Error missing{Code::kNotFound, "find command: there is no " + request.path[3],
                  "cloche show tells how many ran; the first is 1"};
    co_return co_await Refuse(missing);
  }
  auto hold = Hold::TakeLast(guest_, command->output().kept());
  if (!hold) {
    Error full{Code::kExhausted, "attach: too many of your answers are not read yet",
               "end some of your other clients, or try again when they are done"};
    co_return co_await Refuse(full);
  }
  replayed_ = std::move(*hold);
  sandbox_ = *sandbox;
  command_ = command;
  Deliver(command->output().Frames());
  command->Watch(this);
  co_await Follow(*sandbox, command);
  co_await Finish(command->ToJson());
}

}  // namespace cloche::api
