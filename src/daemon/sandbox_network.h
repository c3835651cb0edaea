#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/certificate_authority.h"
#include "daemon/event.h"
#include "daemon/network_log.h"

namespace cloche::daemon {

// A client that reads the log as it is written.
struct NetworkFollower {
  explicit NetworkFollower(asio::io_context& io) : moved(io) {}
  std::deque<std::string> lines;
  uint64_t missed = 0;  // it reads too slowly
  bool over = false;    // no more lines will come
  Event moved;
};

// A sandbox's traffic at its border: open connections, and the log of all others.
class SandboxNetwork {
 public:
  SandboxNetwork(asio::io_context& io, std::string log_path)
      : log(std::move(log_path)), refusals(io) {}

  NetworkLog log;
  uint16_t proxy_port = 0;  // inside; 0: not open
  std::optional<Authority> authority;
  std::string believes;        // SHA-256 of the CA installed in this life
  std::set<std::string> told;  // destinations whose refusal was reported
  // Asks init which process has that socket; NameOwner brings the answer. Unset, or false: not
  // asked.
  std::function<bool(uint16_t source_port)> ask_owner;
  // The process that opened the connection is now known, or never will be.
  std::function<void(uint64_t connection)> on_named;
  bool may_ask = true;
  asio::posix::stream_descriptor refusals;  // by the kernel; closed if it cannot report them

  // Takes one event of cloche-egress. True: it was refused, and `record` holds the details.
  bool Take(const Json& event, Json& record);
  void Note(const Json& record) { Write(record); }  // for anything but connections
  void NameOwner(uint16_t source_port, int32_t pid, const std::string& process);
  void Flush();                         // writes records that still wait for a process name
  void CutAll(const std::string& why);  // ends all open connections
  Json Connections() const;
  std::shared_ptr<NetworkFollower> Follow(asio::io_context& io);
  void End(bool removed);  // the sandbox ends: later records are the last, or not kept

 private:
  // A record that waits for its process, or an open connection.
  struct Asked {
    uint16_t port = 0;
    uint64_t connection = 0;
    std::optional<Json> held;
  };
  bool Ask(const Json& record, Asked asked);
  void Write(const Json& record);
  void Named(uint64_t connection) const {
    if (on_named && connection != 0) on_named(connection);
  }
  std::deque<Asked> asked_;
  std::chrono::steady_clock::time_point second_{};
  int asked_in_second_ = 0;
  bool removed_ = false;
  std::map<uint64_t, Json> open_;
  std::vector<std::weak_ptr<NetworkFollower>> followers_;
};

// "api.example.com:443", from a record.
std::string DestinationOf(const Json& record);

}  // namespace cloche::daemon
