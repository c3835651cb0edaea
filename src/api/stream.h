#pragma once

#include <memory>
#include <string>

#include "api/session.h"
#include "base/frames.h"
#include "daemon/command_run.h"

namespace cloche::api {

// An upgraded connection: frames of base/frames.h in both directions until the result.
class Stream : public daemon::Watcher, public std::enable_shared_from_this<Stream> {
 public:
  Stream(Daemon& daemon, Socket socket, Client client, beast::flat_buffer buffer,
         std::shared_ptr<Guest> guest);
  ~Stream() override;

  Task<void> Run(Request& request);  // it is used up
  Task<void> Exec(Request& request);
  Task<void> Attach(Request& request);
  Task<void> Refuse(const Error& error);  // the last frame, if there was none yet

  void Deliver(std::string frames) override;
  size_t Backlog() const override { return (pending_.size() + writing_) * guest_->Crowding(); }
  bool Foreground() const override { return foreground_; }

 private:
  Task<Status> RunDisposable(RunRequest request);
  Task<Status> RunIn(std::shared_ptr<daemon::Sandbox> sandbox, CommandRequest request);
  Task<void> Follow(std::shared_ptr<daemon::Sandbox> sandbox,
                    std::shared_ptr<daemon::CommandRun> command);
  void SwitchProtocols();
  void Hurry();  // what is pending is worth a write of its own
  Task<void> WriteLoop(std::shared_ptr<Stream> self);
  Task<void> ReadLoop(std::shared_ptr<Stream> self);
  bool InputIsBehind() const;
  bool Handle(FrameType type, std::string payload);
  Task<void> Finish(const Json& result);
  Task<void> Flush();
  void TakeEarlyInput();

  Daemon& daemon_;
  Socket socket_;
  Client client_;
  std::shared_ptr<Guest> guest_;
  Hold replayed_;  // until it has been read
  std::string received_;
  std::string early_input_;
  bool early_end_ = false;
  std::string pending_;
  size_t writing_ = 0;
  daemon::Event moved_;
  asio::steady_timer linger_;
  daemon::Event written_, gone_event_;
  bool news_ = false, gone_ = false, closing_ = false, foreground_ = true;
  std::shared_ptr<daemon::Sandbox> sandbox_;
  std::shared_ptr<daemon::CommandRun> command_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace cloche::api
