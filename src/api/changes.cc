#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <vector>

#include "api/session.h"

// What a sandbox changed, as cloche-diff writes it: streamed, however much it is. An answer that is
// not complete has no last chunk.
namespace cloche::api {
namespace {

constexpr size_t kPiece = 64 << 10;

Task<bool> WriteHead(Socket& socket, bool patch) {
  http::response<http::empty_body> head(http::status::ok, 11);
  head.set(http::field::content_type, patch ? "text/x-diff" : "application/x-ndjson");
  head.keep_alive(false);
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer(head);
  auto [error, size] = co_await http::async_write_header(socket, serializer, daemon::kAwait);
  co_return !error;
}

}  // namespace

Task<std::optional<Response>> ServeChanges(Engine& engine, const Client& client,
                                           const Request& request,
                                           std::shared_ptr<daemon::Sandbox> sandbox,
                                           Socket& socket) {
  auto parsed = ParseLookRequest(request.query);
  if (!parsed) co_return ErrorResponse(parsed.error());
  const bool patch = parsed->patch;
  auto look = co_await engine.StartLook(sandbox, std::move(*parsed), client);
  if (!look) co_return ErrorResponse(look.error());
  std::vector<char> piece(kPiece);
  bool begun = false, heard = true;
  while (heard) {
    auto [error, size] = co_await (*look)->answer.async_read_some(
        asio::buffer(piece.data(), piece.size()), daemon::kAwait);
    if (error) break;
    if (!begun) heard = co_await WriteHead(socket, patch);
    begun = true;
    if (!heard) break;
    auto [lost, sent] = co_await asio::async_write(
        socket, http::make_chunk(asio::buffer(piece.data(), size)), daemon::kAwait);
    heard = !lost;
  }
  const Status status = co_await engine.FinishLook(*look);
  if (!status && !begun) co_return ErrorResponse(status.error());
  if (status && heard) {
    if (!begun) heard = co_await WriteHead(socket, patch);
    if (heard) co_await asio::async_write(socket, http::make_chunk_last(), daemon::kAwait);
  }
  co_return std::nullopt;
}

}  // namespace cloche::api
