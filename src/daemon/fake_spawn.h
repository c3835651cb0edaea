#pragma once

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/command_image.h"
#include "daemon/spawn.h"

namespace cloche::daemon {

// A cloche-spawn for unit tests. Answers at once, with success, unless told otherwise.
class FakeSpawn : public Spawn {
 public:
  explicit FakeSpawn(asio::io_context& io) : io_(io) {}

  // Makes the next request of this kind (or the one after `skip` others) fail.
  void FailNext(SpawnOp op, int error, int skip = 0) { failures_.push_back({op, error, skip}); }
  // Withholds answers to requests of this kind until Release.
  void Hold(SpawnOp op) { held_op_ = op; }
  size_t held() const { return held_.size(); }
  void Release() {
    held_op_ = {};
    for (auto& [request, waiting] : std::exchange(held_, {})) Answer(request, *waiting);
  }
  // As if it died: pending requests fail, and so do all later ones.
  void Die() {
    lost_ = true;
    for (auto& [request, waiting] : std::exchange(held_, {})) Answer(request, *waiting);
  }

  std::string promote_answer;  // for cloche-promote
  std::vector<SpawnRequest> requests;
  size_t Count(SpawnOp op) const {
    return static_cast<size_t>(std::ranges::count(requests, op, &SpawnRequest::op));
  }

  std::shared_ptr<Waiting> SendRequest(SpawnRequest request, std::span<const int> fds) override {
    request.number = requests.size() + 1;
    requests.push_back(request);
    auto waiting = std::make_shared<Waiting>(io_);
    waiting->number = request.number;
    if (request.op == SpawnOp::kPromote && !promote_answer.empty())
      (void)!write(fds[3], promote_answer.data(), promote_answer.size());
    if (request.op == SpawnOp::kEndJob) End(BodyOf<ask::EndJob>(request).job);
    if (request.op == held_op_ && !lost_)
      held_.emplace_back(request, waiting);
    else
      Answer(request, *waiting);
    return waiting;
  }
  bool lost() const override { return lost_; }
  uint32_t ready_flags() const override { return 0; }

 private:
  struct Failure {
    SpawnOp op;
    int error;
    int skip;
  };

  void End(uint64_t number) {
    const auto found =
        std::ranges::find(held_, number, [](const auto& each) { return each.first.number; });
    if (found == held_.end()) return;
    found->second->answer.reply.value = ECANCELED;
    found->second->done.Set();
    held_.erase(found);
  }

  int ErrorFor(SpawnOp op) {
    if (lost_) return ECHILD;
    const auto found = std::ranges::find(failures_, op, &Failure::op);
    if (found == failures_.end() || found->skip-- > 0) return 0;
    const int error = found->error;
    failures_.erase(found);
    return error;
  }

  void Answer(const SpawnRequest& request, Waiting& waiting) {
    waiting.answer.reply.op = SpawnOp::kReply;
    waiting.answer.reply.value = ErrorFor(request.op);
    if (waiting.answer.reply.value == 0 && request.op == SpawnOp::kLaunch)
      AddProcess(waiting.answer);
    waiting.done.Set();
  }

  // The answer to a launch: init's control socket, its pidfd and the seccomp listener.
  void AddProcess(SpawnAnswer& answer) {
    int control[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) return;
    asio::co_spawn(io_, ServeInit(asio::posix::stream_descriptor(io_, control[1])), kDetached);
    answer.fds.emplace_back(control[0]);
    for (int i = 0; i < 2; ++i) answer.fds.emplace_back(eventfd(0, EFD_CLOEXEC));
  }

  // An init that pauses when asked to, and does nothing else.
  static Task<void> ServeInit(asio::posix::stream_descriptor socket) {
    for (;;) {
      InitMessage message{};
      auto [error, size] =
          co_await socket.async_read_some(asio::buffer(&message, sizeof message), kAwait);
      if (error) co_return;
      if (message.op != InitOp::kPause) continue;
      message.op = InitOp::kPaused;
      message.value = 1;
      co_await socket.async_write_some(asio::buffer(&message, sizeof message), kAwait);
    }
  }

  asio::io_context& io_;
  std::vector<Failure> failures_;
  SpawnOp held_op_{};
  std::vector<std::pair<SpawnRequest, std::shared_ptr<Waiting>>> held_;
  bool lost_ = false;
};

}  // namespace cloche::daemon
