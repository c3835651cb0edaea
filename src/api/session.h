#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>

#include "api/guest.h"
#include "api/routes.h"

namespace cloche::api {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// A connection: one or more requests, or one stream.
class Session {
 public:
  Session(Daemon& daemon, Socket socket, Client client, std::shared_ptr<Guest> guest)
      : daemon_(daemon), socket_(std::move(socket)), client_(client), guest_(std::move(guest)) {}
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
  Task<void> ServeFrames(FramedAnswer serve, Request& request);
  Task<std::optional<Response>> ServePort(Call& call);

  Daemon& daemon_;
  Socket socket_;
  Client client_;
  std::shared_ptr<Guest> guest_;
  beast::flat_buffer buffer_;
};

}  // namespace cloche::api
