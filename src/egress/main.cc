// cloche-egress: the only way out of a sandbox. The daemon starts it with a socket as descriptor 3
// and hands it the sockets of each sandbox; docs/formats/egress.md says how they talk.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "egress/calls.h"
#include "egress/control.h"
#include "egress/loop.h"
#include "egress/server.h"
#include "egress/tls.h"
#include "sys/own_process.h"
#include "sys/process.h"
#include "sys/stream.h"

namespace cloche::egress {
namespace {

// When a process ends, the kernel in practice closes its descriptors from the highest number down
// (it promises nothing): up to a thousand descriptors, the daemon hears of our end before the
// programs whose connections are cut, and can tell their users.
constexpr int kControlPlace = 1000;

int Complain(const char* what, int error) {
  const std::string line = std::string("cloche-egress: ") + what + ": " + strerror(-error) + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  return 1;
}

}  // namespace

int Main() {
  if (const int error = sys::ForbidCoreDumps(); error < 0) return Complain("core dumps", error);
  signal(SIGPIPE, SIG_IGN);
  if (const int error = sys::SetNonBlocking(kControlSocket); error < 0)
    return Complain("it is started by cloched, with a socket as descriptor 3", error);
  // Two sockets each, and two pipes when it is busy in both directions.
  const uint64_t files = std::min<uint64_t>(sys::RaiseFileLimit(), 1 << 20);
  const uint64_t most_connections = files < 256 ? 32 : (files - 128) / 6;
  sys::Fd control(
      fcntl(kControlSocket, F_DUPFD_CLOEXEC, files > kControlPlace ? kControlPlace : 0));
  if (!control.valid()) return Complain("keep the socket", -errno);
  close(kControlSocket);
  Loop loop;
  if (const int error = loop.Open(); error < 0) return Complain("epoll", error);
  PrepareTls();
  // Give up privileges before the first byte is read.
  if (const int error = GiveUpOtherCalls(); error < 0) return Complain("seccomp", error);
  Server server(loop, std::move(control), most_connections);
  server.Begin();
  loop.Run();
  _exit(0);  // connections and their frames go with the process
}

}  // namespace cloche::egress

int main() { return cloche::egress::Main(); }
