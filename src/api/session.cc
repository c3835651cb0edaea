#include "api/session.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>

#include "api/stream.h"
#include "base/error_json.h"
#include "base/json_text.h"

namespace cloche::api {
namespace {

constexpr size_t kMaxBody = 16 << 20;
constexpr size_t kMaxHead = 64 << 10;
constexpr size_t kFirstRead = 4096;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

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

// Of one sandbox, answered piece by piece.
bool IsAbout(const Request& request, const char* method, const char* what) {
  return request.method == method && request.path.size() == 3 && request.path[0] == "sandboxes" &&
         request.path[2] == what;
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
  request.body = message.body();
  request.upgrade = beast::iequals(message[http::field::upgrade], "cloche-stream");
  return request;
}

}  // namespace

std::string Request::Query(const std::string& key) const {
  for (const auto& [name, value] : query)
    if (name == key) return value;
  return "";
}

Result<nlohmann::json> Request::ParseBody() const {
  if (body.empty()) return nlohmann::json::object();
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

Task<void> Session::Serve() {
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(kMaxBody);
    parser.header_limit(kMaxHead);
    buffer_.reserve(kFirstRead);  // most requests in one read
    auto [error, size] = co_await http::async_read(socket_, buffer_, parser, daemon::kAwait);
    const bool too_large = error == http::error::body_limit || error == http::error::header_limit;
    if (error && !too_large) co_return;  // gone, half a request, or not HTTP: nobody to answer
    const auto& message = parser.get();
    Response response;
    auto request = Understand(message);
    if (too_large) {
      Error refused{Code::kInvalid,
                    error == http::error::body_limit ? "read request: it is larger than 16 MiB"
                                                     : "read request: its head exceeds 64 KiB",
                    "send less"};
      response = ErrorResponse(refused);
      response.status = 413;
    } else if (!request) {
      response = ErrorResponse(request.error());
    } else if (request->upgrade && IsPortRequest(*request)) {
      auto inside = co_await OpenPort(engine_, client_, *request);
      if (inside) {
        std::string received(static_cast<const char*>(buffer_.data().data()), buffer_.size());
        co_await RelayPort(engine_.io(), std::move(*inside), std::move(socket_),
                           std::move(received));
        co_return;
      }
      response = ErrorResponse(inside.error());
    } else if (request->upgrade) {
      if (co_await RouteUpgrade(*request)) co_return;
      response = ErrorResponse({Code::kInvalid, "upgrade: this resource has no stream", ""});
    } else if (IsAbout(*request, "GET", "changes") || IsAbout(*request, "POST", "promote")) {
      auto sandbox = engine_.Find(request->path[1], client_);
      if (sandbox) {
        const auto serve = request->method == "GET" ? ServeChanges : ServePromotion;
        auto answer = co_await serve(engine_, client_, *request, *sandbox, socket_);
        if (!answer) co_return;
        response = std::move(*answer);
      } else {
        response = ErrorResponse(sandbox.error());
      }
    } else if (request->method == "GET" && request->path.size() == 4 &&
               request->path[0] == "sandboxes" && request->path[2] == "network" &&
               request->path[3] == "log" && request->Query("follow") == "1") {
      auto sandbox = engine_.Find(request->path[1], client_);
      if (sandbox) co_return co_await FollowNetworkLog(engine_, *sandbox, socket_);
      response = ErrorResponse(sandbox.error());
    } else {
      response = co_await Route(*request);
    }
    http::response<http::string_body> reply(static_cast<http::status>(response.status), 11);
    reply.set(http::field::content_type, response.type);
    reply.body() = std::move(response.body);
    reply.keep_alive(message.keep_alive() && !too_large);
    reply.prepare_payload();
    auto [write_error, written] = co_await http::async_write(socket_, reply, daemon::kAwait);
    if (write_error || too_large || !message.keep_alive()) co_return;
  }
}

Task<Response> Session::Route(const Request& request) {
  const auto& path = request.path;
  if (path.size() == 1 && path[0] == "status" && request.method == "GET")
    co_return JsonResponse(engine_.StatusJson(client_));
  if (path.size() == 1 && path[0] == "doctor" && request.method == "GET")
    co_return ServeDoctor(engine_);
  if (path.size() == 1 && path[0] == "explain" && request.method == "POST") {
    auto body = request.ParseBody();
    if (!body) co_return ErrorResponse(body.error());
    auto parsed = ParseSandboxRequest(*body);
    if (!parsed) co_return ErrorResponse(parsed.error());
    auto explained = co_await engine_.Explain(std::move(*parsed), client_);
    co_return explained ? JsonResponse(*explained) : ErrorResponse(explained.error());
  }
  if (!path.empty() && path[0] == "sandboxes")
    co_return co_await ServeSandboxes(engine_, client_, request);
  if (!path.empty() && path[0] == "snapshots")
    co_return co_await ServeSnapshots(engine_, client_, request);
  if (!path.empty() && path[0] == "secrets")
    co_return co_await ServeSecrets(engine_, client_, request);
  if (path.size() == 1 && path[0] == "run")
    co_return ErrorResponse(
        {Code::kInvalid, "run: the answer is a stream", "send Upgrade: cloche-stream"});
  co_return ErrorResponse(
      {Code::kNotFound, "find resource: no such path or method", "see openapi.yaml"});
}

Task<bool> Session::RouteUpgrade(const Request& request) {
  const auto& path = request.path;
  bool run = path.size() == 1 && path[0] == "run";
  bool commands = path.size() == 3 && path[0] == "sandboxes" && path[2] == "commands";
  bool attach =
      path.size() == 5 && path[0] == "sandboxes" && path[2] == "commands" && path[4] == "attach";
  if (request.method != "POST" || !(run || commands || attach)) co_return false;
  auto stream = std::make_shared<Stream>(engine_, std::move(socket_), client_, std::move(buffer_));
  if (run)
    co_await stream->Run(request);
  else if (commands)
    co_await stream->Exec(request);
  else
    co_await stream->Attach(request);
  co_return true;
}

}  // namespace cloche::api
