#include "api/listener.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <map>
#include <memory>

#include "sys/process.h"

namespace cloche::api {
namespace {

// How many are connected for each user. One alone who took every descriptor we have would lock out
// everybody else.
using Crowd = std::map<uint32_t, size_t>;

struct Place {
  Place(Crowd& crowd_in, uint32_t uid_in) : crowd(crowd_in), uid(uid_in) { ++crowd[uid]; }
  ~Place() {
    if (--crowd[uid] == 0) crowd.erase(uid);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  Crowd& crowd;
  uint32_t uid;
};

Task<void> ServeOne(Engine& engine, Crowd& crowd, size_t most, Socket socket) {
  Client client;
  client.socket = socket.native_handle();
  if (sys::PeerOf(client.socket, client.peer) < 0) co_return;
  const auto others = crowd.find(client.peer.uid);
  if (client.peer.uid != 0 && others != crowd.end() && others->second >= most)
    co_return;  // hang up
  Place place(crowd, client.peer.uid);
  // A daemon with a client does not leave, so one that went with an exception must count as gone
  // too.
  const std::shared_ptr<const void> presence = engine.ClientCame();
  Session session(engine, std::move(socket), client);
  co_await session.Serve();
}

}  // namespace

Task<void> Listen(Engine& engine, asio::local::stream_protocol::acceptor& acceptor) {
  static Crowd crowd;  // outlives those it counts
  const size_t most = sys::RaiseFileLimit() / 4;
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(daemon::kAwait);
    if (!acceptor.is_open()) co_return;
    if (error) {
      // Out of descriptors, most likely: those who are connected go on, newcomers wait.
      asio::steady_timer pause(engine.io(), std::chrono::milliseconds(50));
      co_await pause.async_wait(daemon::kAwait);
      continue;
    }
    asio::co_spawn(engine.io(), ServeOne(engine, crowd, most, std::move(socket)), asio::detached);
  }
}

}  // namespace cloche::api
