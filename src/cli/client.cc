#include "cli/client.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error_json.h"
#include "base/text.h"

namespace cloche::cli {
namespace {

namespace http = boost::beast::http;

constexpr int kMostAttempts = 3;

struct Response {
  int status = 0;
  std::string body;
  std::string unread;
  sys::Fd socket;
  double connected_ms = 0;
  bool again = false;  // nothing was done, and another daemon does it
};

// JSON cannot carry it, and a similar name would be another file.
const std::string* NotUtf8(const Json& body) {
  if (body.is_string()) {
    const auto& text = body.get_ref<const std::string&>();
    return IsUtf8(text) ? nullptr : &text;
  }
  if (body.is_structured())
    for (const Json& part : body)
      if (const std::string* text = NotUtf8(part)) return text;
  return nullptr;
}

Status CheckText(const Json& body) {
  const std::string* text = NotUtf8(body);
  if (!text) return {};
  return Fail(Code::kInvalid, fmt::format("send {}: it is not UTF-8", EscapeForTerminal(*text)),
              "rename it, or let a script inside name it");
}

std::string Render(const char* method, const std::string& target, const Json& body, bool upgrade) {
  const std::string text =
      body.is_null() ? "" : body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: cloche\r\n{}{}Content-Length: {}\r\n\r\n{}", method, target,
      upgrade ? "Connection: Upgrade\r\nUpgrade: cloche-stream\r\n" : "Connection: close\r\n",
      body.is_null() ? "" : "Content-Type: application/json\r\n", text.size(), text);
}

// The connection ended in a way that proves nobody read the whole request: a daemon that leaves
// because it is idle resets what waits in its queue. Asking again is then safe.
bool NeverHeard(int error) { return error == EPIPE || error == ECONNRESET; }

bool Send(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::unexpected<Error> Lost(int error) {
  return Fail(
      Code::kUnavailable,
      fmt::format("talk to cloched: {}", error == 0 ? "it closed the connection" : strerror(error)),
      "try again; cloche status shows whether it runs");
}

// Why an answer that had begun broke off, if the daemon says it.
std::optional<Error> ErrorInChunk(std::string_view extensions) {
  http::chunk_extensions fields;
  boost::beast::error_code code;
  fields.parse({extensions.data(), extensions.size()}, code);
  if (code) return std::nullopt;
  for (const auto& [name, value] : fields) {
    const Json error = Json::parse(value.begin(), value.end(), nullptr, false);
    if (name == "error" && error.is_object()) return ErrorFromJson(error);
  }
  return std::nullopt;
}

// The answer to every command that is run. Nothing in its head matters, and to parse it, Beast
// would first make a table of all header names there are.
std::optional<Response> TakeUpgrade(sys::Fd& socket, std::string& received) {
  const size_t end = received.find("\r\n\r\n");
  if (!received.starts_with("HTTP/1.1 101 ") || end == received.npos) return std::nullopt;
  received.erase(0, end + 4);
  Response response;
  response.status = 101;
  response.unread = std::move(received);
  response.socket = std::move(socket);
  return response;
}

// `error` is the errno that stopped us, 0 for an orderly end or an answer that is not HTTP;
// `anything` whether an answer had begun.
Result<Response> Receive(sys::Fd socket, int& error, bool& anything, const PieceSink* sink) {
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.eager(true);
  std::optional<Error> broken_off;
  auto on_chunk = [&](uint64_t, boost::beast::string_view extensions, boost::beast::error_code&) {
    if (!extensions.empty()) broken_off = ErrorInChunk({extensions.data(), extensions.size()});
  };
  parser.on_chunk_header(on_chunk);
  std::string pending;
  char buffer[64 * 1024];
  while (!parser.is_done()) {
    const ssize_t count = recv(socket.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    boost::beast::error_code code;
    if (count <= 0) {
      error = count < 0 && !anything ? errno : 0;
      if (parser.got_some()) parser.put_eof(code);
      if (broken_off) return std::unexpected(*broken_off);
      if (!parser.is_done() || code) return Lost(count < 0 ? errno : 0);
      break;
    }
    pending.append(buffer, static_cast<size_t>(count));
    if (std::exchange(anything, true) == false)
      if (std::optional<Response> upgraded = TakeUpgrade(socket, pending))
        return std::move(*upgraded);
    while (!pending.empty() && !parser.is_done()) {
      const size_t used = parser.put(boost::asio::buffer(pending), code);
      pending.erase(0, used);
      if (code == http::error::need_more) break;
      if (code)
        return Fail(Code::kUnavailable,
                    fmt::format("read the answer of cloched: {}", code.message()));
      if (used == 0) break;
    }
    if (sink && parser.is_header_done() && parser.get().result_int() == 200) {
      (*sink)(parser.get().body());
      parser.get().body().clear();
    }
  }
  Response response;
  response.status = static_cast<int>(parser.get().result_int());
  response.again = response.status == HttpStatus(Code::kUnavailable) &&
                   parser.get().count(http::field::retry_after) != 0;
  response.body = std::move(parser.get().body());
  response.unread = std::move(pending);
  response.socket = std::move(socket);
  return response;
}

Result<Response> Exchange(const std::string& request, StartDaemon start,
                          const PieceSink* sink = nullptr) {
  // A daemon may leave, or be ended, while we talk to it. Requests that change nothing, or that
  // nobody heard, are sent again.
  const bool changes_nothing = request.starts_with("GET ");
  for (int attempt = 0;; ++attempt) {
    ASSIGN_OR_RETURN(sys::Fd socket, ConnectToDaemon(start));
    const double connected_ms = SinceStartMs();
    int error = 0;
    bool anything = false;
    const bool sent = Send(socket.get(), request);
    if (!sent) error = errno;
    // A refusal may have been written before the daemon stopped reading.
    Result<Response> response = Receive(std::move(socket), error, anything, sink);
    if (response && (!response->again || attempt == kMostAttempts - 1)) {
      response->connected_ms = connected_ms;
      return response;
    }
    const bool again = response || (!anything && (changes_nothing || NeverHeard(error)));
    if (attempt == kMostAttempts - 1 || !again) return response;
  }
}

Code CodeFromHttp(int status) {
  for (const Code code : {Code::kInvalid, Code::kNotFound, Code::kConflict, Code::kDenied,
                          Code::kUnavailable, Code::kExhausted})
    if (HttpStatus(code) == status) return code;
  return Code::kInternal;
}

Error ErrorOf(const Response& response) {
  const Json body = Json::parse(response.body, nullptr, false);
  const Json& error = Field(body, "error");
  if (error.is_object()) return ErrorFromJson(error);
  return {CodeFromHttp(response.status), fmt::format("cloched answered {}", response.status), ""};
}

}  // namespace

Result<Json> Call(const char* method, const std::string& target, const Json& body,
                  StartDaemon start) {
  CLOCHE_TRY(CheckText(body));
  ASSIGN_OR_RETURN(const Response response, Exchange(Render(method, target, body, false), start));
  if (response.status < 200 || response.status > 299) return std::unexpected(ErrorOf(response));
  Json answer = Json::parse(response.body, nullptr, false);
  if (answer.is_discarded()) return Fail(Code::kInternal, "read the answer of cloched: not JSON");
  return answer;
}

Result<std::string> CallForBytes(const std::string& target) {
  ASSIGN_OR_RETURN(Response response,
                   Exchange(Render("GET", target, nullptr, false), StartDaemon::kIfNeeded));
  if (response.status != 200) return std::unexpected(ErrorOf(response));
  return std::move(response.body);
}

Status CallForPieces(const std::string& target, const PieceSink& sink, const char* method,
                     const Json& body) {
  CLOCHE_TRY(CheckText(body));
  ASSIGN_OR_RETURN(const Response response,
                   Exchange(Render(method, target, body, false), StartDaemon::kIfNeeded, &sink));
  if (response.status != 200) return std::unexpected(ErrorOf(response));
  return {};
}

Result<Upgraded> CallForStream(const std::string& target, const Json& body) {
  CLOCHE_TRY(CheckText(body));
  ASSIGN_OR_RETURN(Response response,
                   Exchange(Render("POST", target, body, true), StartDaemon::kIfNeeded));
  if (response.status != 101) return std::unexpected(ErrorOf(response));
  return Upgraded{std::move(response.socket), std::move(response.unread), response.connected_ms};
}

}  // namespace cloche::cli
