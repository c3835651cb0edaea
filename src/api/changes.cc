#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <string>

#include "api/handlers.h"
#include "base/error_json.h"

// What a sandbox changed, as cloche-diff or cloche-promote writes it: streamed, however much it is.
// An answer that is not complete has no last chunk.
namespace cloche::api {

namespace http = boost::beast::http;

namespace {

constexpr size_t kPiece = 64 << 10;

Task<bool> WriteHead(Socket& socket, const char* type) {
  http::response<http::empty_body> head(http::status::ok, 11);
  head.set(http::field::content_type, type);
  head.keep_alive(false);
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer(head);
  auto [error, size] = co_await http::async_write_header(socket, serializer, daemon::kAwait);
  co_return !error;
}

// One more chunk, and none after it: the answer ends without its end. Why is an extension of that
// chunk, because a patch has no words for it; in NDJSON it is a line, too.
Task<void> WriteFailure(Socket& socket, const Error& error, bool patch, bool cut) {
  const std::string text = ErrorJson(error).dump(-1, ' ', true);
  std::string body = cut || patch ? "\n" : "";
  if (!patch) body += "{\"error\":" + text + "}\n";
  http::chunk_extensions extensions;
  extensions.insert("error", text);
  co_await asio::async_write(socket, http::make_chunk(asio::buffer(body), std::move(extensions)),
                             daemon::kAwait);
}

// `piece` is how it begins.
Task<std::optional<Response>> PassOn(Daemon& daemon,
                                     std::shared_ptr<daemon::ChangeReader::Reading> look,
                                     std::string piece, const char* type, bool patch,
                                     Socket& socket) {
  bool begun = false, heard = true, cut = false;
  for (;;) {
    if (!piece.empty()) {
      if (!begun) heard = co_await WriteHead(socket, type);
      begun = true;
      if (!heard) break;
      auto [lost, sent] =
          co_await asio::async_write(socket, http::make_chunk(asio::buffer(piece)), daemon::kAwait);
      heard = !lost;
      if (!heard) break;
      cut = piece.back() != '\n';
    }
    piece.resize(kPiece);
    auto [error, size] = co_await look->answer.async_read_some(
        asio::buffer(piece.data(), piece.size()), daemon::kAwait);
    if (error) break;
    piece.resize(size);
  }
  const Status status = co_await daemon.changes.Finish(look);
  if (!status && !begun) co_return ErrorResponse(status.error());
  if (!status && heard) co_await WriteFailure(socket, status.error(), patch, cut);
  if (status && heard) {
    if (!begun) heard = co_await WriteHead(socket, type);
    if (heard) co_await asio::async_write(socket, http::make_chunk_last(), daemon::kAwait);
  }
  co_return std::nullopt;
}

}  // namespace

Task<std::optional<Response>> ReadChanges(Call& call) {
  auto parsed = ParseLookRequest(call.request.query);
  if (!parsed) co_return ErrorResponse(parsed.error());
  const bool patch = parsed->patch;
  const char* type = patch ? "text/x-diff" : "application/x-ndjson";
  auto look = co_await call.daemon.changes.Start(call.sandbox, std::move(*parsed), call.client);
  if (!look) co_return ErrorResponse(look.error());
  co_return co_await PassOn(call.daemon, *look, "", type, patch, call.socket);
}

Task<std::optional<Response>> Promote(Call& call) {
  auto parsed = ParseBody(call.request, ParsePromoteRequest);
  if (!parsed) co_return ErrorResponse(parsed.error());
  auto said =
      co_await call.daemon.promotions.Promote(call.sandbox, std::move(*parsed), call.client);
  if (!said) co_return ErrorResponse(said.error());
  if (!said->rest) {
    Response whole;
    whole.body = std::move(said->text);
    co_return whole;
  }
  co_return co_await PassOn(call.daemon, said->rest, std::move(said->text), "application/json",
                            true, call.socket);
}

}  // namespace cloche::api
