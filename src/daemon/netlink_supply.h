#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/command_image.h"
#include "daemon/event.h"

#include "sys/fd.h"
#include "sys/seccomp_listener.h"

namespace cloche::daemon {

// At a time, per sandbox. Programs hold one briefly, to ask for their addresses.
inline constexpr long kMostNetlinkSockets = 64;

// The netlink sockets of a sandbox. No cgroup counts the data waiting in one (up to 700 KiB), so
// their number is limited. A filter cannot count, and a socket that the caller makes itself could
// not be counted in time. So seccomp hands us every such call, init makes the socket, and the
// caller finds it among its descriptors.
class NetlinkSupply : public std::enable_shared_from_this<NetlinkSupply> {
 public:
  struct Surroundings {
    int listener = -1;  // where calls are answered
    int init_pid = 0;
    std::function<bool(const InitMessage&)> tell_init;  // false: it is gone
    // Somebody may have stopped the sandbox briefly. Init then does not answer, and a caller that
    // waits for us cannot be stopped.
    std::function<bool()> may_stand_still;
  };
  NetlinkSupply(asio::io_context& io, Surroundings around) : io_(io), around_(std::move(around)) {}

  void Ask(const sys::SeccompNotification& call);
  void Made(const InitMessage& answer, sys::Fd socket);  // from init
  void Close();                                          // call before the listener goes

 private:
  Task<void> Serve(std::shared_ptr<NetlinkSupply> self);
  Task<int> Answer(const sys::SeccompNotification& call);
  Task<bool> HearInit();

  asio::io_context& io_;
  Surroundings around_;
  std::deque<sys::SeccompNotification> asked_;
  bool open_ = true, serving_ = false;
  std::shared_ptr<Event> answered_;
  uint32_t serial_ = 0;  // of the last request
  int error_ = 0;
  sys::Fd made_;
  bool silent_ = false;  // init does not answer
  long unseen_ = 0;      // sockets that callers were allowed to make meanwhile
};

}  // namespace cloche::daemon
