#include "api/listener.h"

#include <fmt/core.h>
#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <map>
#include <memory>

#include "sys/process.h"

namespace cloche::api {
namespace {

using Crowd = std::map<uint32_t, std::weak_ptr<Guest>>;

std::shared_ptr<Guest> GuestOf(Crowd& crowd, uint32_t uid) {
  std::weak_ptr<Guest>& known = crowd[uid];
  if (auto guest = known.lock()) return guest;
  std::erase_if(crowd,
                [uid](const auto& each) { return each.first != uid && each.second.expired(); });
  auto guest = std::make_shared<Guest>();
  known = guest;
  return guest;
}

// Counts a connection among those of its user while it is there.
struct CountedConnection {
  explicit CountedConnection(std::shared_ptr<Guest> guest_in) : guest(std::move(guest_in)) {
    ++guest->connections;
  }
  ~CountedConnection() { --guest->connections; }
  CountedConnection(const CountedConnection&) = delete;
  CountedConnection& operator=(const CountedConnection&) = delete;
  std::shared_ptr<Guest> guest;
};

// The answer to a user with too many connections. It is small enough to be written at once.
void TurnAway(Socket& socket) {
  static const Response refusal =
      ErrorResponse({Code::kExhausted, "connect: you have too many connections to cloched",
                     "end some of your other clients"});
  const std::string text = fmt::format(
      "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\n"
      "Content-Length: {}\r\n\r\n{}",
      refusal.body.size(), refusal.body);
  boost::system::error_code ignored;
  (void)socket.non_blocking(true, ignored);
  (void)socket.write_some(asio::buffer(text), ignored);
}

// `presence`: a daemon with a client does not leave. A connection that ended with an exception
// counts as gone.
Task<void> ServeOne(Daemon& daemon, Crowd& crowd, size_t most, Socket socket,
                    [[maybe_unused]] std::shared_ptr<const void> presence) {
  Client client;
  client.socket = socket.native_handle();
  if (sys::PeerOf(client.socket, client.peer) < 0) co_return;
  const auto guest = GuestOf(crowd, client.peer.uid);
  if (client.peer.uid != 0 && guest->connections >= most) co_return TurnAway(socket);
  const CountedConnection counted(guest);
  Session session(daemon, std::move(socket), client, guest);
  co_await session.Serve();
}

}  // namespace

Task<void> Listen(Daemon& daemon, asio::local::stream_protocol::acceptor& acceptor) {
  static Crowd crowd;  // outlives the guests it counts
  const size_t most = std::min<size_t>(sys::RaiseFileLimit() / 4, Guest::kMostConnections);
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(daemon::kAwait);
    if (!acceptor.is_open()) co_return;
    if (error) {
      // Out of descriptors, most likely: open connections continue, new ones wait.
      asio::steady_timer pause(daemon.io, std::chrono::milliseconds(50));
      co_await pause.async_wait(daemon::kAwait);
      continue;
    }
    // Counted from here on, not when its coroutine first runs.
    auto presence = daemon.housekeeping.ClientCame();
    asio::co_spawn(daemon.io, ServeOne(daemon, crowd, most, std::move(socket), std::move(presence)),
                   daemon::kDetached);
  }
}

}  // namespace cloche::api
