#include "sign/dialer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sign/calls.h"
#include "sys/message.h"
#include "sys/process.h"

namespace cloche::sign {
namespace {

[[noreturn]] void Serve(int asked, const sockaddr_un& address) {
  for (;;) {
    char byte = 0;
    int none = 0;
    if (sys::ReceiveMessage(asked, &byte, 1, {}, none) <= 0) _exit(0);
    const sys::Fd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int32_t error = 0;
    if (!made.valid() ||
        connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
      error = errno;
    const int fds[] = {made.get()};
    if (sys::SendMessage(asked, &error, sizeof error, {fds, error == 0 ? size_t{1} : 0}) < 0)
      _exit(1);
  }
}

}  // namespace

int StartDialer(const std::string& path, sys::Fd& ours) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path[0] != '/' || path.size() >= sizeof address.sun_path)
    return -ENAMETOOLONG;
  memcpy(address.sun_path, path.data(), path.size());
  sys::Fd theirs;
  if (const int error = sys::MakeSocketPair(ours, theirs); error < 0) return error;
  const pid_t pid = fork();
  if (pid < 0) return -errno;
  if (pid > 0) return 0;
  if (dup2(theirs.get(), STDIN_FILENO) < 0 || sys::CloseFrom(STDERR_FILENO + 1) < 0) _exit(1);
  if (KeepCallsOfDialer() < 0) _exit(1);
  Serve(STDIN_FILENO, address);
}

int Dial(int dialer) {
  const char byte = 0;
  if (sys::SendMessage(dialer, &byte, 1) < 0) return -EPIPE;
  int32_t error = 0;
  int fds[1] = {-1};
  int count = 0;
  if (sys::ReceiveMessage(dialer, &error, sizeof error, fds, count) !=
      static_cast<long>(sizeof error))
    return -EPIPE;
  if (error != 0 || count != 1) {
    if (count == 1) close(fds[0]);
    return error != 0 ? -error : -EPIPE;
  }
  return fds[0];
}

}  // namespace cloche::sign
