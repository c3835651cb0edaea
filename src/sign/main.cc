// cloche-sign: lends a sandbox single signatures of granted keys, never the keys. Started by
// cloche-spawn with the rights of the sandbox's owner: descriptor 3 leads to the daemon, 4 is where
// programs inside connect. The keys are in the owner's ssh-agent; nobody here can read them.
#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sign/bridge.h"
#include "sign/calls.h"
#include "sign/dialer.h"
#include "sys/message.h"
#include "sys/process.h"
#include "sys/stream.h"

namespace cloche::sign {
namespace {

constexpr int kControl = 3, kListener = 4;

int Complain(const char* what, int error) {
  const std::string line = fmt::format("cloche-sign: {}: {}\n", what, strerror(-error));
  (void)!write(STDERR_FILENO, line.data(), line.size());
  return 1;
}

}  // namespace

int Main() {
  sys::SetDumpable(false);
  signal(SIGPIPE, SIG_IGN);
  // The daemon's first word: where the agent is.
  char text[4096];
  int none = 0;
  const long got = sys::ReceiveMessage(kControl, text, sizeof text, {}, none);
  if (got <= 0)
    return Complain("it is started by cloche-spawn", got < 0 ? static_cast<int>(got) : -EPIPE);
  sys::Fd dialer;
  if (const int error = StartDialer({text, static_cast<size_t>(got)}, dialer); error < 0)
    return Complain("start the dialer", error);
  sys::SetNonBlocking(kListener);
  sys::SetNonBlocking(kControl);
  // Give up privileges before the first byte from inside is read.
  if (const int error = KeepCallsOfBridge(); error < 0) return Complain("seccomp", error);
  Bridge bridge(sys::Fd{kControl}, sys::Fd{kListener}, std::move(dialer));
  bridge.Run();
  return 0;
}

}  // namespace cloche::sign

int main() { return cloche::sign::Main(); }
