#include "api/session.h"

#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>

#include "api/handlers.h"
#include "api/stream.h"
#include "base/ascii.h"
#include "base/error_json.h"
#include "base/json_text.h"
#include "base/text.h"
#include "daemon/last_words.h"

namespace cloche::api {
namespace {

constexpr size_t kMaxHead = 64 << 10;
constexpr size_t kFirstRead = 4096;
constexpr size_t kMostValues = 200'000;  // of a body: each costs more than its bytes
constexpr size_t kSmall = 64 << 10;      // of one connection, and so bounded by their number
constexpr size_t kMostDiscarded = 64 << 20;
// Of requests that have begun: a connection may be silent for as long as it likes.
constexpr std::chrono::seconds kHeadTime{10}, kBodyTime{60}, kWriteTime{300}, kDiscardTime{5};

Result<std::string> Decode(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return Fail(Code::kInvalid, "read request: a broken %XX in its target");
    plain.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return plain;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Ends all waits on a socket when time is up. The socket may be gone before.
class Deadline {
 public:
  Deadline(asio::io_context& io, Socket& socket, std::chrono::seconds time)
      : state_(std::make_shared<State>(io, &socket)) {
    state_->timer.expires_after(time);
    state_->timer.async_wait([state = state_](boost::system::error_code error) {
      if (error || !state->socket) return;
      state->passed = true;
      boost::system::error_code ignored;
      (void)state->socket->cancel(ignored);
    });
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() {
    state_->socket = nullptr;
    state_->timer.cancel();
  }
  bool passed() const { return state_->passed; }

 private:
  struct State {
    State(asio::io_context& io, Socket* socket_in) : timer(io), socket(socket_in) {}
    asio::steady_timer timer;
    Socket* socket;
    bool passed = false;
  };
  std::shared_ptr<State> state_;
};

Response Refused(int status, const Error& error) {
  Response response = ErrorResponse(error);
  response.status = status;
  return response;
}

Response TooSlow(const char* what, std::chrono::seconds time) {
  return Refused(
      408, {Code::kInvalid,
            fmt::format("read request: its {} was not complete within {} s", what, time.count()),
            "send it at once"});
}

Response TooLarge(size_t most) {
  return Refused(413, {Code::kInvalid,
                       fmt::format("read request: it is larger than {}, the most for this resource",
                                   FormatBytes(most)),
                       "send less"});
}

// True if the client sent something other than HTTP, or too much of it. Other errors are about the
// connection.
bool IsAboutHttp(const boost::system::error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

Response TooMuchAtOnce(const char* what) {
  return Refused(
      429, {Code::kExhausted,
            fmt::format("{}: more than {} MiB of your requests and answers are under way", what,
                        Guest::kMostBytes >> 20),
            "end some of your other clients, or try again when they are done"});
}

// Values cost many times their bytes: "[[[[".
bool HasTooManyValues(const std::string& text) {
  size_t values = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == ',' || c == '[' || c == '{'))
      ++values;
  }
  return values > kMostValues;
}

Result<Request> Understand(const http::request<http::string_body>& message) {
  Request request;
  request.method = std::string(message.method_string());
  std::string_view target(message.target().data(), message.target().size());
  size_t question = std::min(target.find('?'), target.size());
  if (!target.starts_with("/v1/"))
    return Fail(Code::kNotFound, "find resource: only /v1/ is served here");
  for (std::string_view segment : Split(target.substr(4, question - 4), '/')) {
    ASSIGN_OR_RETURN(std::string decoded, Decode(segment));
    request.path.push_back(std::move(decoded));
  }
  for (std::string_view field : Split(target.substr(std::min(question + 1, target.size())), '&')) {
    size_t equals = std::min(field.find('='), field.size());
    ASSIGN_OR_RETURN(std::string key, Decode(field.substr(0, equals)));
    ASSIGN_OR_RETURN(std::string value, Decode(field.substr(std::min(equals + 1, field.size()))));
    request.query.emplace_back(std::move(key), std::move(value));
  }
  request.upgrade = beast::iequals(message[http::field::upgrade], "cloche-stream");
  return request;
}

// Called in a handler's catch block; returns what the client learns of it.
Error RecordBug() {
  daemon::RecordException(std::current_exception(), "serve a request");
  return {Code::kInternal, "serve request: a bug of cloched ended it",
          "cloche doctor shows it; please report it"};
}

}  // namespace

std::string Request::Query(const std::string& key) const {
  for (const auto& [name, value] : query)
    if (name == key) return value;
  return "";
}

Result<nlohmann::json> Request::ParseBody() const {
  if (body.empty()) return nlohmann::json::object();
  if (HasTooManyValues(body))
    return Fail(Code::kInvalid,
                fmt::format("read request: the body has more than {} values", kMostValues),
                "send less in one request");
  auto json = nlohmann::json::parse(body, nullptr, false);
  if (json.is_discarded()) return Fail(Code::kInvalid, "read request: the body is not JSON");
  return json;
}

Response JsonResponse(const Json& body, int status) {
  return {status, EscapeJson(body.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n",
          "application/json"};
}

Response ErrorResponse(const Error& error) {
  return JsonResponse({{"error", ErrorJson(error)}}, HttpStatus(error.code));
}

Response Reply(const Result<Json>& result, int status) {
  return result ? JsonResponse(*result, status) : ErrorResponse(result.error());
}

Task<void> Session::Serve() {
  for (;;) {
    if (buffer_.size() == 0) {
      auto [error] = co_await socket_.async_wait(Socket::wait_read, daemon::kAwait);
      if (error) co_return;
    }
    // The request stays unread and is answered by a reset, so that the client knows nobody heard
    // it.
    if (daemon_.lifecycle.closed()) co_return;
    Request request;
    bool keep_alive = false;
    if (!co_await Read(request, keep_alive)) co_return;
    if (!co_await Handle(std::move(request), keep_alive)) co_return;
    if (!keep_alive) co_return;
  }
}

// g++ 12: every argument of a co_await here has a name.
Task<bool> Session::Read(Request& request, bool& keep_alive) {
  http::request_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.header_limit(kMaxHead);
  buffer_.reserve(kFirstRead);  // most requests in one read
  Response refusal;
  uint64_t unread = kMostDiscarded;
  {
    const Deadline deadline(daemon_.io, socket_, kHeadTime);
    auto [error, size] = co_await http::async_read_header(socket_, buffer_, parser, daemon::kAwait);
    if (deadline.passed())
      refusal = TooSlow("head", kHeadTime);
    else if (error && !IsAboutHttp(error))
      co_return false;  // gone, perhaps in the middle: nobody is there to answer
    else if (error == http::error::header_limit)
      refusal =
          Refused(413, {Code::kInvalid, "read request: its head exceeds 64 KiB", "send less"});
    else if (error)
      refusal = Refused(400, {Code::kInvalid, "read request: " + error.message(),
                              "this is HTTP/1.1, as openapi.yaml says"});
  }
  if (refusal.body.empty()) {
    keep_alive = parser.get().keep_alive();
    const auto length = parser.content_length();
    const uint64_t announced = length ? *length : 0;
    if (!parser.chunked()) unread = announced;
    refusal = Admit(parser.get(), parser.chunked(), announced, request);
  }
  if (!refusal.body.empty()) {
    co_await RefuseUnread(std::move(refusal), unread);
    co_return false;
  }
  if (!parser.is_done()) {
    parser.body_limit(request.route->most_body);
    const Deadline deadline(daemon_.io, socket_, kBodyTime);
    auto [error, size] = co_await http::async_read(socket_, buffer_, parser, daemon::kAwait);
    if (deadline.passed())
      refusal = TooSlow("body", kBodyTime);
    else if (error == http::error::body_limit)
      refusal = TooLarge(request.route->most_body);
    else if (error)
      co_return false;
  }
  if (!refusal.body.empty()) {
    co_await RefuseUnread(std::move(refusal), kMostDiscarded);
    co_return false;
  }
  request.body = std::move(parser.get().body());
  co_return true;
}

// Decides by its head alone. An empty answer: it may come.
Response Session::Admit(const http::request<http::string_body>& head, bool chunked,
                        uint64_t announced, Request& request) {
  Response none;
  auto understood = Understand(head);
  if (!understood) return ErrorResponse(understood.error());
  const auto route = FindRoute(understood->method, understood->path, understood->upgrade);
  if (!route) return Refused(route.error().status, route.error().error);
  const size_t most = (*route)->most_body;
  if (announced > most) return TooLarge(most);
  request = std::move(*understood);
  request.route = *route;
  const size_t bytes = chunked ? most : static_cast<size_t>(announced);
  if (bytes <= kSmall) return none;
  auto hold = Hold::Take(guest_, bytes);
  if (!hold) return TooMuchAtOnce("read request");
  request.hold = std::move(*hold);
  return none;
}

// Discards the rest of the request: many clients send all of it before they read anything.
Task<void> Session::RefuseUnread(Response response, uint64_t unread) {
  static char scrap[64 << 10];  // one for all: nobody reads it
  const bool written = co_await Write(std::move(response), false);
  if (!written) co_return;
  uint64_t left = std::min<uint64_t>(unread, kMostDiscarded);
  left -= std::min<uint64_t>(left, buffer_.size());
  const Deadline deadline(daemon_.io, socket_, kDiscardTime);
  while (left > 0 && !deadline.passed()) {
    auto [error, size] = co_await socket_.async_read_some(asio::buffer(scrap), daemon::kAwait);
    if (error) co_return;
    left -= std::min<uint64_t>(left, size);
  }
}

Task<bool> Session::Handle(Request request, bool keep_alive) {
  std::optional<Response> response;
  if (daemon_.lifecycle.closed()) {
    Response leaving =
        ErrorResponse({Code::kUnavailable, "serve request: cloched is shutting down", "ask again"});
    leaving.again = true;
    co_await Write(std::move(leaving), false);
    co_return false;
  }
  try {
    response = co_await Answer(request);
  } catch (const std::exception&) {
    response = ErrorResponse(RecordBug());
  }
  if (!response) co_return false;
  request = Request();  // its body is not needed any more
  co_return co_await Write(std::move(*response), keep_alive);
}

// nullopt: it was answered, and the connection is over.
Task<std::optional<Response>> Session::Answer(Request& request) {
  const Route& route = *request.route;
  if (const auto* framed = std::get_if<FramedAnswer>(&route.handler)) {
    co_await ServeFrames(*framed, request);
    co_return std::nullopt;
  }
  Call call{daemon_, client_, request, socket_, nullptr};
  if (route.subject != Subject::kNone) {
    auto found = route.subject == Subject::kSandbox
                     ? daemon_.sandboxes.Find(request.path[1], client_)
                     : daemon_.sandboxes.FindAny(request.path[1], client_);
    if (!found) co_return ErrorResponse(found.error());
    call.sandbox = std::move(*found);
  }
  if (const auto* whole = std::get_if<WholeAnswer>(&route.handler))
    co_return co_await (*whole)(call);
  if (const auto* streamed = std::get_if<StreamedAnswer>(&route.handler))
    co_return co_await (*streamed)(call);
  co_return co_await ServePort(call);
}

Task<std::optional<Response>> Session::ServePort(Call& call) {
  auto inside = co_await OpenPort(call);
  if (!inside) co_return ErrorResponse(inside.error());
  std::string received(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  co_await RelayPort(daemon_.io, std::move(*inside), std::move(socket_), std::move(received));
  co_return std::nullopt;
}

Task<void> Session::ServeFrames(FramedAnswer serve, Request& request) {
  auto stream =
      std::make_shared<Stream>(daemon_, std::move(socket_), client_, std::move(buffer_), guest_);
  std::optional<Error> bug;
  try {
    co_await (*stream.*serve)(request);
  } catch (const std::exception&) {
    bug = RecordBug();
  }
  if (bug) co_await stream->Refuse(*bug);  // our socket is the stream's by now
}

Task<bool> Session::Write(Response response, bool keep_alive) {
  std::optional<Hold> hold;
  if (response.body.size() > kSmall) hold = Hold::TakeLast(guest_, response.body.size());
  if (response.body.size() > kSmall && !hold) response = TooMuchAtOnce("answer");
  http::response<http::string_body> reply(static_cast<http::status>(response.status), 11);
  reply.set(http::field::content_type, response.type);
  if (response.again) reply.set(http::field::retry_after, "0");
  reply.body() = std::move(response.body);
  reply.keep_alive(keep_alive);
  reply.prepare_payload();
  const Deadline deadline(daemon_.io, socket_, kWriteTime);
  auto [error, written] = co_await http::async_write(socket_, reply, daemon::kAwait);
  co_return !error;
}

}  // namespace cloche::api
