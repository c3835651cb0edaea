#include "daemon/command_run.h"

#include <errno.h>
#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <cmath>
#include <ctime>

#include "base/error_json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

// Shared: cloched has one thread, and passes on what it reads before it does anything else.
char scratch[64 << 10];
constexpr size_t kForegroundBacklog = 1 << 20;
constexpr size_t kBackgroundBacklog = 8 << 20;

const char* StateName(CommandRun::State state) {
  switch (state) {
    case CommandRun::State::kStarting:
    case CommandRun::State::kRunning:
      return "running";
    case CommandRun::State::kExited:
      return "exited";
    case CommandRun::State::kSignaled:
      return "signaled";
    case CommandRun::State::kKilled:
      return "killed";
    case CommandRun::State::kFailed:
      return "failed";
  }
  return "failed";
}

}  // namespace

std::string Rfc3339(std::chrono::system_clock::time_point time) {
  using std::chrono::milliseconds;
  return Rfc3339Millis(std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

CommandRun::CommandRun(asio::io_context& io, std::string sandbox, uint32_t number,
                       CommandRequest request, uint64_t output_limit, LogFile log)
    : io_(io),
      sandbox_(std::move(sandbox)),
      number_(number),
      request_(std::move(request)),
      started_(io),
      ended_(io),
      input_moved_(io),
      output_moved_(io),
      output_(output_limit, std::move(log.path), log.reader),
      stdin_(io),
      stdout_(io),
      stderr_(io),
      started_at_(std::chrono::system_clock::now()),
      started_steady_(std::chrono::steady_clock::now()),
      last_activity_(started_steady_) {}

void CommandRun::Started(int pid, std::vector<sys::Fd> streams) {
  state_ = State::kRunning;
  pid_ = pid;
  auto self = shared_from_this();
  asio::posix::stream_descriptor* places[] = {&stdout_, &stderr_, &stdin_};
  for (size_t i = 0; i < streams.size() && i < 3; ++i) {
    sys::SetNonBlocking(streams[i].get());
    places[i]->assign(streams[i].Release());
  }
  if (stdout_.is_open()) asio::co_spawn(io_, Pump(self, stdout_, FrameType::kStdout), kDetached);
  if (stderr_.is_open()) asio::co_spawn(io_, Pump(self, stderr_, FrameType::kStderr), kDetached);
  started_.Set();
  Tell(FrameType::kStarted, {{"id", sandbox_}, {"command", std::to_string(number_)}, {"pid", pid}});
  if (!input_.empty() && !feeding_) {
    feeding_ = true;
    asio::co_spawn(io_, Feed(self), kDetached);
  } else if (input_closed_ && stdin_.is_open()) {
    stdin_.close();
  }
}

void CommandRun::Failed(Error error, int exit_status) {
  state_ = State::kFailed;
  error_ = std::move(error);
  exit_status_ = exit_status;
  Finish();
}

void CommandRun::Watch(Watcher* watcher) { watchers_.insert(watcher); }

void CommandRun::Tell(FrameType type, const Json& body) {
  constexpr size_t kMostNotices = 16;
  if (type == FrameType::kNotice && notices_.size() < kMostNotices)
    notices_.push_back(body.value("message", ""));
  if (watchers_.empty()) return;
  std::string frame;
  AppendFrame(frame, type, body.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (Watcher* watcher : watchers_) watcher->Deliver(frame);
}

void CommandRun::Keep(FrameType type, std::string_view data) {
  last_activity_ = std::chrono::steady_clock::now();
  size_t shown = output_.Add(type, data);
  if (shown > 0 && !watchers_.empty()) {
    std::string frame;
    AppendFrame(frame, type, data.substr(0, shown));
    for (Watcher* watcher : watchers_) watcher->Deliver(frame);
  }
  if (output_.over() && !output_told_) {
    output_told_ = true;
    Tell(FrameType::kNotice,
         {{"kind", "limit"},
          {"message", fmt::format("output limit {} reached: the end is shown when the command ends",
                                  FormatBytes(output_.limit()))}});
  }
}

// Reads until everybody has closed the other end, or until the command ended and nothing is left: a
// daemon it left behind may hold the pipe forever.
Task<void> CommandRun::Pump(std::shared_ptr<CommandRun> self, asio::posix::stream_descriptor& from,
                            FrameType type) {
  while (from.is_open()) {
    // Wait, then read in one step: a read that completes on its own could hold bytes that DrainNow
    // then overtakes.
    auto [error] = co_await from.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error || !from.is_open()) break;
    long got = sys::ReadSome(from.native_handle(), scratch, sizeof scratch);
    if (got == -EAGAIN) continue;
    if (got <= 0) break;  // a pty reports EIO once nobody holds its other end
    self->Keep(type, std::string_view(scratch, static_cast<size_t>(got)));
    bool slow = true;
    while (slow && !self->ended()) {
      slow = false;
      for (Watcher* watcher : self->watchers_)
        slow |= watcher->Foreground() && watcher->Backlog() > kForegroundBacklog;
      std::erase_if(self->watchers_, [](Watcher* watcher) {
        return !watcher->Foreground() && watcher->Backlog() > kBackgroundBacklog;
      });
      if (slow) {
        asio::steady_timer pause(self->io_, std::chrono::milliseconds(2));
        co_await pause.async_wait(kAwait);
      }
    }
  }
}

bool CommandRun::DrainNow(asio::posix::stream_descriptor& from, FrameType type) {
  if (!from.is_open()) return true;
  from.cancel();
  // A pipe holds 64 KiB (1 MiB at most): its content now is the command's; what a survivor adds
  // later is not.
  for (int round = 0; round < 32; ++round) {
    long got = sys::ReadSome(from.native_handle(), scratch, sizeof scratch);
    if (got <= 0) break;
    Keep(type, std::string_view(scratch, static_cast<size_t>(got)));
  }
  from.close();
  return true;
}

void CommandRun::Exited(const InitMessage& report) {
  usage_ = report;
  status_ = report.value;
  if (sys::ExitedNormally(status_)) {
    state_ = State::kExited;
    exit_status_ = sys::ExitCode(status_);
  } else {
    state_ = State::kSignaled;
    exit_status_ = 128 + sys::TermSignal(status_);
  }
  Finish();
}

void CommandRun::Lost(const std::string& why) {
  if (ended()) return;
  state_ = State::kKilled;
  exit_status_ = 137;
  if (!limit_) error_ = Error{Code::kUnavailable, why, ""};
  Finish();
}

void CommandRun::MarkLimit(LimitHit hit) {
  if (!limit_) limit_ = std::move(hit);
}

void CommandRun::Finish() {
  if (ended()) return;
  duration_s_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_steady_).count();
  DrainNow(stdout_, FrameType::kStdout);
  DrainNow(stderr_, FrameType::kStderr);
  if (stdin_.is_open()) stdin_.close();
  if (limit_ && limit_->message.starts_with("killed")) {
    state_ = State::kKilled;
    bool time = limit_->name == "wall" || limit_->name == "idle" || limit_->name == "life";
    exit_status_ = time ? 124 : 137;
  }
  if (output_.over()) {
    if (!limit_)
      limit_ =
          LimitHit{"output", static_cast<double>(output_.limit()),
                   fmt::format("output limit {}: {} bytes dropped", FormatBytes(output_.limit()),
                               output_.total() - output_.kept())};
    Tell(
        FrameType::kNotice,
        {{"kind", "limit"},
         {"message",
          fmt::format("{} bytes left out here; the end follows{}", output_.total() - output_.kept(),
                      output_.log_path().empty() ? "" : "; log: " + output_.log_path())}});
  }
  for (Watcher* watcher : watchers_) watcher->Deliver(output_.Held());
  ended_.Set();
  started_.Set();
  input_moved_.Pulse();
  if (on_finish) on_finish();
}

void CommandRun::WriteInput(std::string_view data) {
  last_activity_ = std::chrono::steady_clock::now();
  if (ended() || input_closed_) return;
  input_ += data;
  if (state_ == State::kRunning && !feeding_) {
    feeding_ = true;
    asio::co_spawn(io_, Feed(shared_from_this()), kDetached);
  }
}

Task<void> CommandRun::Feed(std::shared_ptr<CommandRun> self) {
  asio::posix::stream_descriptor& to = self->request_.pty ? self->stdout_ : self->stdin_;
  while (!self->input_.empty() && to.is_open()) {
    std::string part = std::move(self->input_);
    self->input_.clear();
    auto [error, sent] = co_await asio::async_write(to, asio::buffer(part), kAwait);
    if (error) {
      self->input_closed_ = true;
      self->input_.clear();
      break;
    }
  }
  self->feeding_ = false;
  if (self->input_closed_ && self->stdin_.is_open()) self->stdin_.close();
}

void CommandRun::CloseInput() {
  input_closed_ = true;
  if (request_.pty) {
    // On a terminal, end of file is a character.
    input_closed_ = false;
    return;
  }
  if (!feeding_ && input_.empty() && stdin_.is_open()) stdin_.close();
}

void CommandRun::Resize(uint16_t rows, uint16_t columns) {
  if (request_.pty && stdout_.is_open()) sys::SetWindowSize(stdout_.native_handle(), rows, columns);
}

Json CommandRun::ToJson() const {
  Json json = {{"id", std::to_string(number_)},
               {"sandbox", sandbox_},
               {"argv", request_.argv},
               {"state", StateName(state_)},
               {"started", Rfc3339(started_at_)},
               {"limit", nullptr},
               {"denials", denials}};
  json["output"] = {{"kept_bytes", output_.kept()},
                    {"dropped_bytes", output_.total() - output_.kept()},
                    {"log", nullptr}};
  if (auto path = output_.log_path(); !path.empty()) json["output"]["log"] = path;
  if (ended()) {
    json["exit_status"] = exit_status_;
    json["duration_s"] = duration_s_;
    json["cpu_s"] = static_cast<double>(usage_.user_us + usage_.system_us) / 1e6;
    json["peak_memory_bytes"] = usage_.max_rss_kib * 1024;
    json["io"] = {{"read_bytes", usage_.blocks_in * 512}, {"write_bytes", usage_.blocks_out * 512}};
    if (state_ == State::kSignaled || (state_ == State::kKilled && !sys::ExitedNormally(status_)))
      json["signal"] = sys::TermSignal(status_);
  }
  if (limit_) {
    json["limit"] = {
        {"name", limit_->name}, {"value", limit_->value}, {"message", limit_->message}};
    if (double whole = std::floor(limit_->value); whole == limit_->value)
      json["limit"]["value"] = static_cast<int64_t>(whole);
  }
  if (error_) json["error"] = ErrorJson(*error_);
  if (!notices_.empty()) json["notices"] = notices_;
  for (const auto& [key, value] : extra_.items()) json[key] = value;
  if (request_.timing) {
    Json timing;
    for (const auto& [step, ms] : steps_.steps()) timing[step] = ms;
    json["timing"] = timing;
  }
  return json;
}

}  // namespace cloche::daemon
