#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/command_image.h"
#include "base/result.h"
#include "daemon/event.h"
#include "daemon/output_keep.h"
#include "daemon/step_timer.h"
#include "policy/request.h"

namespace cloche::daemon {

// Watches a command: receives frames, and reports how far behind it is.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void Deliver(std::string frames) = 0;
  virtual size_t Backlog() const = 0;
  virtual bool Foreground() const = 0;  // the command waits for it if it is slow
};

struct LogFile {
  std::string path;
  uint32_t reader = 0;  // another uid that may read it
};

struct LimitHit {
  std::string name;  // "memory"
  double value = 0;
  std::string message;  // "killed: memory limit 512 MiB"
};

// One command in a sandbox: its streams, its output, its end.
class CommandRun : public std::enable_shared_from_this<CommandRun> {
 public:
  enum class State { kStarting, kRunning, kExited, kSignaled, kKilled, kFailed };

  CommandRun(asio::io_context& io, std::string sandbox, uint32_t number, CommandRequest request,
             uint64_t output_limit, LogFile log);

  uint32_t number() const { return number_; }
  State state() const { return state_; }
  bool ended() const { return ended_.is_set(); }
  int exit_status() const { return exit_status_; }
  Event& ended_event() { return ended_; }
  Event& started_event() { return started_; }
  const CommandRequest& request() const { return request_; }
  const std::optional<Error>& error() const { return error_; }
  StepTimer& steps() { return steps_; }
  OutputKeep& output() { return output_; }

  void Started(int pid, std::vector<sys::Fd> streams);  // as InitOp::kStarted brings them
  void Failed(Error error, int exit_status);
  // The command's own process ended: reads the rest of its output, then calls Finish.
  void Exited(const InitMessage& report);
  void Lost(const std::string& why);  // its sandbox has gone
  void MarkLimit(LimitHit hit);       // the first one counts

  void Watch(Watcher* watcher);
  void Unwatch(Watcher* watcher) { watchers_.erase(watcher); }
  void Tell(FrameType type, const Json& body);
  void WriteInput(std::string_view data);
  void CloseInput();
  void Resize(uint16_t rows, uint16_t columns);
  size_t InputBacklog() const { return input_.size(); }

  Json ToJson() const;
  void AddResult(const std::string& key, Json value) { extra_[key] = std::move(value); }
  std::chrono::steady_clock::time_point last_activity() const { return last_activity_; }
  uint64_t denials = 0;
  int64_t cpu_us_before = 0;
  uint32_t memory_group = 0;  // the one it was started in
  int64_t oom_before = 0;     // kills in that group
  int64_t refusals_before = 0;
  // When SIGKILL was first sent to it, if ever.
  std::optional<std::chrono::steady_clock::time_point> kill_sent;
  void NoteKill() {
    if (!ended() && !kill_sent) kill_sent = std::chrono::steady_clock::now();
  }
  std::function<void()> on_finish;  // set by the sandbox

 private:
  Task<void> Pump(std::shared_ptr<CommandRun> self, asio::posix::stream_descriptor& from,
                  FrameType type);
  Task<void> Feed(std::shared_ptr<CommandRun> self);
  bool DrainNow(asio::posix::stream_descriptor& from, FrameType type);
  void Keep(FrameType type, std::string_view data);
  void Finish();

  asio::io_context& io_;
  std::string sandbox_;
  uint32_t number_;
  CommandRequest request_;
  State state_ = State::kStarting;
  Event started_, ended_, input_moved_, output_moved_;
  OutputKeep output_;
  asio::posix::stream_descriptor stdin_, stdout_, stderr_;  // with a pty, stdout_ is its master
  bool feeding_ = false, input_closed_ = false, output_told_ = false;
  std::string input_;
  std::set<Watcher*> watchers_;
  std::optional<Error> error_;
  std::optional<LimitHit> limit_;
  std::vector<std::string> notices_;  // the first few
  int pid_ = 0, status_ = 0, exit_status_ = 0;
  InitMessage usage_{};
  std::chrono::system_clock::time_point started_at_;
  std::chrono::steady_clock::time_point started_steady_, last_activity_;
  double duration_s_ = 0;
  Json extra_ = Json::object();
  StepTimer steps_;
};

std::string Rfc3339(std::chrono::system_clock::time_point time);

}  // namespace cloche::daemon
