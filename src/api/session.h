#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/guest.h"
#include "base/result.h"
#include "daemon/engine.h"

namespace cloche::api {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using daemon::Client;
using daemon::Engine;
using daemon::Json;
using daemon::Task;
using Socket = asio::local::stream_protocol::socket;

struct Request {
  std::string method;
  std::vector<std::string> path;  // decoded segments after /v1
  std::vector<std::pair<std::string, std::string>> query;
  std::string body;
  size_t most_body = 0;  // that its resource takes
  Hold hold;             // of the body
  bool upgrade = false;  // to cloche-stream
  std::string Query(const std::string& key) const;
  Result<nlohmann::json> ParseBody() const;
};

struct Response {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  bool again = false;  // nothing was done: the same request is for the next daemon
};
Response JsonResponse(const Json& body, int status = 200);
Response ErrorResponse(const Error& error);

// A connection: one or more requests, or one stream.
class Session {
 public:
  Session(Engine& engine, Socket socket, Client client, std::shared_ptr<Guest> guest)
      : engine_(engine), socket_(std::move(socket)), client_(client), guest_(std::move(guest)) {}
  Task<void> Serve();

 private:
  // The next request, whole and within what its sender may send. False: it was refused, and the
  // connection is over.
  Task<bool> Read(Request& request, bool& keep_alive);
  Response Admit(const http::request<http::string_body>& head, bool chunked, uint64_t announced,
                 Request& request);
  Task<void> RefuseUnread(Response response, uint64_t unread);
  // False: the connection is over, for it broke or became something else.
  Task<bool> Handle(Request request, bool keep_alive);
  Task<std::optional<Response>> Answer(Request& request);
  Task<bool> Write(Response response, bool keep_alive);
  Task<Response> Route(const Request& request);
  Task<bool> RouteUpgrade(Request& request);  // true: the connection was a stream and is over

  Engine& engine_;
  Socket socket_;
  Client client_;
  std::shared_ptr<Guest> guest_;
  beast::flat_buffer buffer_;
};

// One file per resource.
Task<Response> ServeSandboxes(Engine& engine, const Client& client, const Request& request);
Task<Response> ServeCommands(Engine& engine, const Client& client, const Request& request,
                             std::shared_ptr<daemon::Sandbox> sandbox);
Task<Response> ServeServices(Engine& engine, const Client& client, const Request& request,
                             std::shared_ptr<daemon::Sandbox> sandbox);
Response OutputResponse(daemon::CommandRun& command, const Request& request);
// snapshots, rollback and fork of a sandbox; and /v1/snapshots.
Task<Response> ServeSavedStates(Engine& engine, const Client& client, const Request& request,
                                std::shared_ptr<daemon::Sandbox> sandbox);
// Nothing: it has answered by itself, and the connection is over.
Task<std::optional<Response>> ServeChanges(Engine& engine, const Client& client,
                                           const Request& request,
                                           std::shared_ptr<daemon::Sandbox> sandbox,
                                           Socket& socket);
Task<std::optional<Response>> ServePromotion(Engine& engine, const Client& client,
                                             const Request& request,
                                             std::shared_ptr<daemon::Sandbox> sandbox,
                                             Socket& socket);
Task<Response> ServeNetwork(Engine& engine, const Client& client, const Request& request,
                            std::shared_ptr<daemon::Sandbox> sandbox);
Task<Response> ServeSigning(Engine& engine, const Client& client, const Request& request,
                            std::shared_ptr<daemon::Sandbox> sandbox);
// Written as it happens, until the client goes or the sandbox is removed.
Task<void> FollowNetworkLog(Engine& engine, std::shared_ptr<daemon::Sandbox> sandbox,
                            Socket& socket);
// The connection becomes one to a port of the sandbox.
bool IsPortRequest(const Request& request);
Task<Result<sys::Fd>> OpenPort(Engine& engine, Client client, const Request& request);
Task<void> RelayPort(asio::io_context& io, sys::Fd inside, Socket socket, std::string received);
Task<Response> ServeSnapshots(Engine& engine, const Client& client, const Request& request);
Task<Response> ServeSecrets(Engine& engine, const Client& client, const Request& request);
Response ServeDoctor(Engine& engine, const Client& client);

}  // namespace cloche::api
