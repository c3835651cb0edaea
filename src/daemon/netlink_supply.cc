#include "daemon/netlink_supply.h"

#include <errno.h>

#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "sys/netlink_sockets.h"

namespace cloche::daemon {
namespace {

constexpr std::chrono::milliseconds kMoment{20};

}  // namespace

void NetlinkSupply::Ask(const sys::SeccompNotification& call) {
  asked_.push_back(call);
  if (std::exchange(serving_, true)) return;
  asio::co_spawn(io_, Serve(shared_from_this()), kDetached);
}

void NetlinkSupply::Made(const InitMessage& answer, sys::Fd socket) {
  silent_ = false;
  unseen_ = 0;  // init runs again, and so do they
  if (!answered_ || answer.command != serial_) return;
  error_ = socket.valid() ? 0 : answer.value;
  made_ = std::move(socket);
  answered_->Set();
}

void NetlinkSupply::Close() {
  open_ = false;
  asked_.clear();
  if (answered_) answered_->Set();
}

Task<void> NetlinkSupply::Serve([[maybe_unused]] std::shared_ptr<NetlinkSupply> self) {
  while (open_ && !asked_.empty()) {
    const sys::SeccompNotification call = asked_.front();
    asked_.pop_front();
    const int error = co_await Answer(call);
    if (error != 0 && open_) sys::DenyNotification(around_.listener, call.id, error);
  }
  serving_ = false;
}

// False: init is silent, perhaps because somebody stopped the sandbox.
Task<bool> NetlinkSupply::HearInit() {
  asio::steady_timer moment(io_);
  while (!answered_->is_set()) {
    moment.expires_after(kMoment);
    moment.async_wait([event = answered_](boost::system::error_code error) {
      if (!error) event->Pulse();
    });
    co_await answered_->Wait();
    if (!answered_->is_set() && around_.may_stand_still()) co_return false;
  }
  co_return true;
}

// An errno for the caller; 0: the caller has been answered.
Task<int> NetlinkSupply::Answer(const sys::SeccompNotification& call) {
  const auto type = sys::ReadNetlinkType(call.arguments[1]);
  if (!type) co_return EINVAL;
  const auto count = sys::CountNetlinkSockets(around_.init_pid);
  if (!count || *count + unseen_ >= kMostNetlinkSockets) co_return ENOBUFS;
  if (!silent_) {
    InitMessage message{};
    message.op = InitOp::kNetlink;
    message.command = ++serial_;
    message.value = type->made;
    answered_ = std::make_shared<Event>(io_);
    error_ = ENOBUFS;
    if (!around_.tell_init(message)) co_return ENOBUFS;
    silent_ = !co_await HearInit();
    answered_.reset();
  }
  if (!open_) co_return 0;  // everybody is gone
  if (silent_) {
    ++unseen_;
    sys::ContinueNotification(around_.listener, call.id);
    co_return 0;
  }
  const sys::Fd made = std::move(made_);
  if (!made.valid()) co_return error_;
  const int given =
      sys::SupplyDescriptor(around_.listener, call.id, made.get(), type->close_on_exec);
  co_return given == -ENOENT ? 0 : -given;
}

}  // namespace cloche::daemon
