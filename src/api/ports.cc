#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <memory>
#include <vector>

#include "api/handlers.h"

// A connection to a server inside a sandbox. Both ends are bytes to us.
namespace cloche::api {
namespace {

using Inside = asio::generic::stream_protocol::socket;

constexpr size_t kPiece = 64 << 10;

struct Relay {
  Relay(Socket client_in, asio::io_context& io) : client(std::move(client_in)), inside(io) {}
  Socket client;
  Inside inside;
};

// Passes on the end of one direction; the other may still send.
template <typename From, typename To>
Task<void> Pass(std::shared_ptr<Relay> relay, From& from, To& to) {
  std::vector<char> piece(kPiece);
  boost::system::error_code ignored;
  for (;;) {
    auto [error, size] =
        co_await from.async_read_some(asio::buffer(piece.data(), piece.size()), daemon::kAwait);
    if (error == asio::error::eof) break;
    if (!error) {
      auto [lost, sent] =
          co_await asio::async_write(to, asio::buffer(piece.data(), size), daemon::kAwait);
      error = lost;
    }
    if (error) {
      (void)relay->client.close(ignored);
      (void)relay->inside.close(ignored);
      co_return;
    }
  }
  (void)to.shutdown(asio::socket_base::shutdown_send, ignored);
}

}  // namespace

Task<Result<sys::Fd>> OpenPort(Call& call) {
  const std::string& text = call.Part(3);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0)
    co_return Fail(Code::kInvalid, "connect: not a port", "give a number from 1 to 65535");
  co_return co_await call.daemon.networks.ConnectInto(call.sandbox, port, call.client);
}

Task<void> RelayPort(asio::io_context& io, sys::Fd inside, Socket socket, std::string received) {
  auto relay = std::make_shared<Relay>(std::move(socket), io);
  boost::system::error_code failed;
  // The family does not matter to what is done with it.
  constexpr int kInternet = 2;
  (void)relay->inside.assign(asio::generic::stream_protocol(kInternet, 0), inside.Release(),
                             failed);
  if (failed) co_return;
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: cloche-stream\r\n\r\n";
  auto [error, size] =
      co_await asio::async_write(relay->client, asio::buffer(kAnswer), daemon::kAwait);
  if (error) co_return;
  if (!received.empty()) {
    auto [lost, sent] =
        co_await asio::async_write(relay->inside, asio::buffer(received), daemon::kAwait);
    if (lost) co_return;
  }
  asio::co_spawn(io, Pass(relay, relay->inside, relay->client), daemon::kDetached);
  co_await Pass(relay, relay->client, relay->inside);
}

}  // namespace cloche::api
