#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>

#include "api/handlers.h"

// The rules for what a sandbox may reach, and the log of what it did.
namespace cloche::api {

namespace http = boost::beast::http;

namespace {

constexpr const char* kLines = "application/x-ndjson";

std::string DroppedLine(uint64_t dropped) {
  return dropped == 0 ? "" : Json{{"dropped", dropped}}.dump() + "\n";
}

std::string LogText(daemon::SandboxNetwork& network) {
  network.Flush();
  std::string text = DroppedLine(network.log.totals().dropped);
  for (const std::string& line : network.log.Lines()) text += line + "\n";
  return text;
}

Task<bool> WriteChunk(Socket& socket, const std::string& text) {
  if (text.empty()) co_return true;
  auto [error, size] =
      co_await asio::async_write(socket, http::make_chunk(asio::buffer(text)), daemon::kAwait);
  co_return !error;
}

// Followers send nothing more, so a readable socket means that the follower is gone.
Task<void> WatchForEnd(Socket& socket, std::shared_ptr<daemon::NetworkFollower> follower,
                       std::shared_ptr<bool> left) {
  (void)co_await socket.async_wait(Socket::wait_read, daemon::kAwait);
  follower->over = *left = true;
  follower->moved.Pulse();
}

Task<void> FollowNetworkLog(Daemon& daemon, std::shared_ptr<daemon::Sandbox> sandbox,
                            Socket& socket) {
  const auto network = sandbox->border().MakeNetwork();
  const auto follower = network->Follow(daemon.io);
  http::response<http::empty_body> head(http::status::ok, 11);
  head.set(http::field::content_type, kLines);
  head.keep_alive(false);
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer(head);
  auto [error, size] = co_await http::async_write_header(socket, serializer, daemon::kAwait);
  bool heard = !error && co_await WriteChunk(socket, LogText(*network));
  const auto left = std::make_shared<bool>(false);
  asio::co_spawn(daemon.io, WatchForEnd(socket, follower, left), daemon::kDetached);
  while (heard) {
    while (follower->lines.empty() && !follower->over) co_await follower->moved.Wait();
    if (follower->lines.empty()) break;
    std::string text = DroppedLine(std::exchange(follower->missed, 0));
    for (const std::string& line : follower->lines) text += line + "\n";
    follower->lines.clear();
    heard = co_await WriteChunk(socket, text);
  }
  if (heard) co_await asio::async_write(socket, http::make_chunk_last(), daemon::kAwait);
  boost::system::error_code ignored;
  (void)socket.close(ignored);
  // WatchForEnd refers to the socket: closing it wakes WatchForEnd, which must leave first.
  while (!*left) co_await follower->moved.Wait();
}

}  // namespace

Task<Response> ShowNetwork(Call& call) {
  co_return JsonResponse(call.daemon.networks.ToJson(*call.sandbox));
}

Task<Response> ChangeNetwork(Call& call) {
  const auto body = call.request.ParseBody();
  if (!body) co_return ErrorResponse(body.error());
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto change = ParseNetworkChange(*body, now);
  if (!change) co_return ErrorResponse(change.error());
  const Status changed =
      co_await call.daemon.networks.Change(call.sandbox, std::move(*change), call.client);
  co_return changed ? JsonResponse(call.daemon.networks.ToJson(*call.sandbox))
                    : ErrorResponse(changed.error());
}

Task<std::optional<Response>> ReadNetworkLog(Call& call) {
  if (call.request.Query("follow") != "1")
    co_return Response{200, LogText(*call.sandbox->border().MakeNetwork()), kLines};
  co_await FollowNetworkLog(call.daemon, call.sandbox, call.socket);
  co_return std::nullopt;
}

}  // namespace cloche::api
