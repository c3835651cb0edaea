#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sys/fd.h"

namespace cloche::cli {

// Ctrl-C and other requests to end, as a file descriptor, for as long as this lives, so that
// cleanup comes first. A signal that nobody took is acted on afterwards. Ctrl-\ always works.
// SIGPIPE, that nobody reads our output, is not such a request.
class SignalWatch {
 public:
  SignalWatch() {
    signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = sys::Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return fd_.get(); }

  // The first signal that arrived, 0 when none did. All that came by now count as one.
  int Take() const {
    signalfd_siginfo info{};
    int first = 0;
    while (read(fd_.get(), &info, sizeof info) == sizeof info)
      if (first == 0) first = static_cast<int>(info.ssi_signo);
    return first;
  }

 private:
  sigset_t before_{};
  sys::Fd fd_;
};

}  // namespace cloche::cli
