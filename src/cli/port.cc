#include <arpa/inet.h>
#include <errno.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/request.h"
#include "sys/fd.h"

namespace cloche::cli {
namespace {

constexpr int kLookMs = 1000;  // how often to see whether the sandbox still runs
constexpr size_t kMostWaiting = 256 << 10;

Result<sys::Fd> ListenOnLoopback(uint16_t& port) {
  sys::Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), any, size) < 0 || listen(listener.get(), 128) < 0 ||
      getsockname(listener.get(), any, &size) < 0)
    return Fail(Code::kConflict, fmt::format("listen on 127.0.0.1:{}: {}", port, strerror(errno)),
                "choose another port: --public-as PORT");
  port = ntohs(address.sin_port);
  return listener;
}

// One direction of a connection: read, kept while the other side is slow, written, ended.
struct Direction {
  int from, to;
  std::string waiting;
  bool read_all = false, told = false;

  bool wants_read() const { return !read_all && waiting.size() < kMostWaiting; }
  // False: the connection is broken.
  bool Read() {
    char buffer[64 * 1024];
    const ssize_t count = recv(from, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) read_all = true;
    waiting.append(buffer, static_cast<size_t>(count));
    return true;
  }
  bool Write() {
    while (!waiting.empty()) {
      const ssize_t count = send(to, waiting.data(), waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      waiting.erase(0, static_cast<size_t>(count));
    }
    if (read_all && !told) {
      shutdown(to, SHUT_WR);
      told = true;
    }
    return true;
  }
};

void Pass(int outside, int inside, std::string unread) {
  Direction in{outside, inside, {}}, out{inside, outside, std::move(unread)};
  while (!in.told || !out.told) {
    const auto events = [](const Direction& reads, const Direction& writes) {
      return static_cast<short>((reads.wants_read() ? POLLIN : 0) |
                                (writes.waiting.empty() ? 0 : POLLOUT));
    };
    pollfd fds[] = {{outside, events(in, out), 0}, {inside, events(out, in), 0}};
    for (pollfd& each : fds)
      if (each.events == 0) each.fd = -1;
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0 && in.wants_read() && !in.Read()) return;
    if (fds[1].revents != 0 && out.wants_read() && !out.Read()) return;
    if (!in.Write() || !out.Write()) return;
  }
}

[[noreturn]] void Serve(const std::string& target, int outside) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with the command
  auto inside = CallForStream(target, Json::object());
  if (!inside) _exit(PrintError(inside.error()));
  Pass(outside, inside->socket.get(), std::move(inside->unread));
  _exit(0);
}

Status CheckRuns(const std::string& sandbox) {
  ASSIGN_OR_RETURN(const Json shown, Call("GET", sandbox, nullptr, StartDaemon::kNever));
  const std::string state = Text(shown, "state"), id = Text(shown, "id");
  if (state == "running") return {};
  return Fail(Code::kConflict, fmt::format("reach port: {} is {}", id, state),
              fmt::format("start it, and the server in it: cloche start {}", id));
}

std::string IsPort(const std::string& text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error == std::errc() && end == text.data() + text.size()) return "";
  return EscapeForTerminal(text) + " is not a port: give a number from 1 to 65535";
}

}  // namespace

int Port(Arguments arguments) {
  std::string ref;
  uint16_t inside = 0, outside = 0;
  CLI::App app("Lets this machine, and nobody else, reach a server inside a sandbox.",
               "cloche port");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  app.add_option("PORT", inside, "the server's port inside")->required()->check(IsPort);
  CLI::Option* named =
      app.add_option("--public-as", outside, "the port on 127.0.0.1; 0 chooses a free one")
          ->type_name("PORT")
          ->check(IsPort);
  if (auto status = Parse(app, "SANDBOX PORT", arguments)) return *status;
  if (inside == 0)
    return PrintError({Code::kInvalid, "reach port 0: there is none", "give the server's port"});
  if (named->count() == 0) outside = inside;
  const auto sandbox = SandboxTarget(ref);
  if (!sandbox) return PrintError(sandbox.error());
  if (const Status runs = CheckRuns(*sandbox); !runs) return PrintError(runs.error());
  auto listener = ListenOnLoopback(outside);
  if (!listener) return PrintError(listener.error());
  signal(SIGCHLD, SIG_IGN);
  const std::string text =
      fmt::format("127.0.0.1:{} leads to port {} of {}\n", outside, inside, ref);
  WriteAll(STDOUT_FILENO, EscapeForTerminal(text.substr(0, text.size() - 1)) + "\n");
  const std::string target = fmt::format("{}/ports/{}", *sandbox, inside);
  for (;;) {
    pollfd ready{listener->get(), POLLIN, 0};
    if (poll(&ready, 1, kLookMs) > 0) {
      const sys::Fd client(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.get() >= 0 && fork() == 0) Serve(target, client.get());
      continue;
    }
    if (const Status runs = CheckRuns(*sandbox); !runs) {
      WriteAll(STDERR_FILENO, "cloche: " + EscapeForTerminal(runs.error().message) + "\n");
      return 0;
    }
  }
}

}  // namespace cloche::cli
