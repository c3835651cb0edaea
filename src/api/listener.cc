#include "api/listener.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>

namespace cloche::api {
namespace {

Task<void> ServeOne(Engine& engine, Socket socket) {
  Client client;
  client.socket = socket.native_handle();
  if (sys::PeerOf(client.socket, client.peer) < 0) co_return;
  // A daemon with a client does not leave, so one that went with an exception must count as gone
  // too.
  const std::shared_ptr<const void> presence = engine.ClientCame();
  Session session(engine, std::move(socket), client);
  co_await session.Serve();
}

}  // namespace

Task<void> Listen(Engine& engine, asio::local::stream_protocol::acceptor& acceptor) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(daemon::kAwait);
    if (!acceptor.is_open()) co_return;
    if (error) {
      // Out of descriptors, most likely: those who are connected go on, newcomers wait.
      asio::steady_timer pause(engine.io(), std::chrono::milliseconds(50));
      co_await pause.async_wait(daemon::kAwait);
      continue;
    }
    asio::co_spawn(engine.io(), ServeOne(engine, std::move(socket)), asio::detached);
  }
}

}  // namespace cloche::api
