#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/request.h"
#include "base/result.h"
#include "daemon/daemon.h"

// Which request goes where: one table, which routes_test.cc compares with openapi.yaml.
namespace cloche::api {

namespace asio = boost::asio;
using daemon::Client;
using daemon::Daemon;
using daemon::Task;
using Socket = asio::local::stream_protocol::socket;
class Stream;

// The arguments of a handler.
struct Call {
  Daemon& daemon;
  const Client& client;
  const Request& request;
  Socket& socket;                            // of those who write their answer themselves
  std::shared_ptr<daemon::Sandbox> sandbox;  // of sandboxes/*

  const std::string& Part(size_t index) const { return request.path[index]; }
};

// The kinds of answers.
using WholeAnswer = Task<Response> (*)(Call& call);
// Written piece by piece as it comes. Nothing: it is written, and the connection is over.
using StreamedAnswer = Task<std::optional<Response>> (*)(Call& call);
// After `Upgrade: cloche-stream`: frames, or the bytes of a port inside.
using FramedAnswer = Task<void> (Stream::*)(Request& request);
struct PortAnswer {};
using Handler = std::variant<WholeAnswer, StreamedAnswer, FramedAnswer, PortAnswer>;

// The thing a path names, looked up before its handler is called.
enum class Subject {
  kNone,
  kSandbox,
  kAnySandbox,  // also one whose record cannot be read
};

struct Route {
  std::string_view method;
  std::string_view path;  // segments; * is any
  size_t most_body;
  Subject subject;
  Handler handler;

  bool NeedsUpgrade() const {
    return std::holds_alternative<FramedAnswer>(handler) ||
           std::holds_alternative<PortAnswer>(handler);
  }
};
std::span<const Route> Routes();

inline constexpr size_t kMostEmptyBody = 64 << 10;  // where none is expected

struct Refusal {
  Error error;
  int status = 0;
};

std::expected<const Route*, Refusal> FindRoute(const std::string& method,
                                               const std::vector<std::string>& path, bool upgrade);

}  // namespace cloche::api
