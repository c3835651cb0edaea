#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <string>

#include "api/handlers.h"
#include "base/error_json.h"

// Streams the changes of a sandbox as cloche-diff or cloche-promote writes them, of any length. An
// incomplete answer has no last chunk.
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

// Writes a last chunk and no end, so that the answer is known to be incomplete. The reason is an
// extension of that chunk, because a patch has no words for it; in NDJSON it is a line, too.
Task<void> WriteFailure(Socket& socket, const Error& error, bool patch, bool cut) {
  const std::string text = ErrorJson(error).dump(-1, ' ', true);
  std::string body = cut || patch ? "\n" : "";
  if (!patch) body += "{\"error\":" + text + "}\n";
  http::chunk_extensions extensions;
  extensions.insert("error", text);
  co_await asio::async_write(socket, http::make_chunk(asio::buffer(body), std::move(extensions)),
                             daemon::kAwait);
}

// `piece` is its beginning.
Task<std::optional<Response>> PassOn(Daemon& daemon, std::shared_ptr<daemon::Reading> reading,
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
    auto [error, size] = co_await reading->answer.async_read_some(
        asio::buffer(piece.data(), piece.size()), daemon::kAwait);
    if (error) break;
    piece.resize(size);
  }
  const Status status = co_await daemon.changes.Finish(reading);
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
  auto parsed = ParseDiffRequest(call.request.query);
  if (!parsed) co_return ErrorResponse(parsed.error());
  const bool patch = parsed->patch;
  const char* type = patch ? "text/x-diff" : "application/x-ndjson";
  auto reading =
      co_await call.daemon.changes.StartDiff(call.sandbox, std::move(*parsed), call.client);
  if (!reading) co_return ErrorResponse(reading.error());
  co_return co_await PassOn(call.daemon, *reading, "", type, patch, call.socket);
}

Task<std::optional<Response>> Promote(Call& call) {
  auto parsed = ParseBody(call.request, ParsePromotionRequest);
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
