#include "daemon/spawn_link.h"

#include <errno.h>
#include <string.h>

#include <boost/asio/co_spawn.hpp>

#include "sys/message.h"
#include "sys/own_process.h"
#include "sys/stream.h"

namespace cloche::daemon {

Result<std::unique_ptr<SpawnLink>> SpawnLink::Start(asio::io_context& io,
                                                    const std::string& program,
                                                    const std::string& state_dir) {
  int process = 0;
  int socket = sys::StartWithSocket(program.c_str(), state_dir.c_str(), process);
  if (socket < 0)
    return Fail(Code::kUnavailable, "start " + program + ": " + strerror(-socket),
                "build or install cloche-spawn beside cloched");
  std::unique_ptr<SpawnLink> link(new SpawnLink(io, socket, process));
  asio::co_spawn(io, link->ReadLoop(), kDetached);
  return link;
}

void SpawnLink::Serve(std::function<void(const SpawnReply&)> on_exited,
                      std::function<void()> on_lost) {
  on_exited_ = std::move(on_exited);
  on_lost_ = std::move(on_lost);
}

Task<SpawnAnswer> SpawnLink::Ready() {
  co_await ready_.Wait();
  SpawnAnswer answer;
  answer.reply = ready_reply_;
  co_return answer;
}

std::shared_ptr<Spawn::Waiting> SpawnLink::SendRequest(SpawnRequest request,
                                                       std::span<const int> fds) {
  request.number = next_++;
  auto waiting = std::make_shared<Waiting>(io_);
  waiting->number = request.number;
  waiting_[request.number] = waiting;
  long sent = -EPIPE;
  if (!lost_) sent = sys::SendMessage(socket_.native_handle(), &request, sizeof request, fds);
  if (sent < 0) {
    waiting_.erase(request.number);
    waiting->answer.reply.value = static_cast<int>(-sent);
    strncpy(waiting->answer.reply.operation, "reach cloche-spawn", 39);
    waiting->done.Set();
  }
  return waiting;
}

Task<void> SpawnLink::Leave() {
  on_exited_ = nullptr;
  on_lost_ = nullptr;
  if (lost_) co_return;
  sys::EndSending(socket_.native_handle());
  co_await left_.Wait();
}

Task<void> SpawnLink::ReadLoop() {
  for (;;) {
    auto [error] = co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error) break;
    for (;;) {
      SpawnReply reply{};
      int fds[8];
      int fd_count = 0;
      long got =
          sys::ReceiveMessage(socket_.native_handle(), &reply, sizeof reply, fds, fd_count, true);
      if (got == -EAGAIN) break;
      if (got != static_cast<long>(sizeof reply)) {
        FailAll();
        co_return;
      }
      std::vector<sys::Fd> owned;
      for (int i = 0; i < fd_count; ++i) owned.emplace_back(fds[i]);
      if (reply.op == SpawnOp::kReady) {
        ready_reply_ = reply;
        ready_.Set();
      } else if (reply.op == SpawnOp::kExited) {
        if (on_exited_) on_exited_(reply);
      } else if (auto found = waiting_.find(reply.number); found != waiting_.end()) {
        found->second->answer = {reply, std::move(owned)};
        found->second->done.Set();
        waiting_.erase(found);
      }
    }
  }
  FailAll();
}

void SpawnLink::FailAll() {
  lost_ = true;
  if (!ready_.is_set()) {
    ready_reply_.value = ECHILD;
    strncpy(ready_reply_.operation, "start cloche-spawn", 39);
    ready_.Set();
  }
  for (auto& [number, waiting] : waiting_) {
    waiting->answer.reply.value = ECHILD;
    strncpy(waiting->answer.reply.operation, "cloche-spawn died", 39);
    waiting->done.Set();
  }
  waiting_.clear();
  left_.Set();
  if (on_lost_) on_lost_();
}

}  // namespace cloche::daemon
