#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/launch_plan.h"
#include "base/result.h"
#include "daemon/event.h"
#include "daemon/spawn.h"
#include "sys/fd.h"

namespace cloche::daemon {

using SecretValues = std::vector<std::pair<std::string, std::string>>;  // by name; wipe after use

// A value to redact in answers from these hosts (pairs of name and port); wipe after use.
struct RedactedValue {
  std::string value;
  Json hosts = Json::array();
};

// One sandbox's border, as passed to cloche-egress.
struct Border {
  std::string name;
  std::vector<std::string> socket_names;
  std::vector<sys::Fd> sockets;  // ours: they outlive a cloche-egress that dies
  Json rules = Json::array();
  Json limits = Json::object();
  std::function<SecretValues()> secrets;  // called each time, so that nobody stores them
  std::function<std::vector<RedactedValue>()> redacted;
  Json authority;                 // null: TLS is not terminated
  Json canaries = Json::array();  // decoys to look for
  std::function<void(const Json& event)> on_connection;
  std::function<void()> on_over;  // it was closed, and no more events will come
};

// cloche-egress: started with the first sandbox that is granted something, ended after the last. If
// it dies, it is restarted with everything it had.
class EgressLink {
 public:
  EgressLink(asio::io_context& io, Mode mode, Spawn& spawn, std::string log_path)
      : io_(io),
        mode_(mode),
        spawn_(spawn),
        log_path_(std::move(log_path)),
        socket_(io),
        changed_(io),
        goodbye_(io),
        impatience_(io) {}

  std::function<void(const std::string& why)> on_death;

  Task<Status> Open(std::string sandbox, Border border);  // returns once it is guarded
  Task<void> SetRules(std::string sandbox, Json rules);   // returns once they are in force
  void SendSecrets(const std::string& sandbox);           // the current ones
  void NameOwner(const std::string& sandbox, uint64_t connection);  // it is known, or never will be
  void Close(const std::string& sandbox);
  bool IsOpen(const std::string& sandbox) const;
  void Drain();      // reads the messages it has already sent
  void CheckHost();  // reports changed name servers or CAs of this machine
  void SetAuthority(const std::string& sandbox, Json authority);  // before the rules that need it
  Json Describe() const;

 private:
  struct Guarded {
    Border border;
    bool opened = false;
    uint64_t rules_sent = 0, rules_taken = 0;
    uint64_t opened_with = 0;  // the rules sent with its sockets
    std::string error;         // why it was not opened
    std::set<std::string> secrets_sent;
  };
  // A sandbox that was closed: the ends of its connections are still to come.
  struct Closing {
    std::string sandbox;
    Border border;
    std::chrono::steady_clock::time_point since;
  };
  // Messages that cloche-egress has not read yet.
  struct Outgoing {
    std::string text;
    std::vector<sys::Fd> fds;
  };
  Task<void> Serve();
  Task<void> ReadLoop();
  Status Start();
  enum class Received : uint8_t { kOne, kNothing, kEnd };
  Received ReceiveOne();
  void Handle(const std::string& text);
  void Send(const Json& message, const std::vector<int>& fds = {});
  void SendOpen(const std::string& sandbox, Guarded& guarded);
  void SendSecretsOf(const std::string& sandbox, Guarded& guarded);
  void SendWaiting();
  void SendWaitingLater();
  void BePatient();  // starts a timeout
  void ForgetWaiting();
  void SendResolver();
  void SendHostCas();  // once, when first needed, and when they change
  void Cut();
  void TellDeath();  // once
  void SayGoodbyeLater();
  void SayGoodbye(bool all);  // to those whose time is up; hangs up when none is left

  asio::io_context& io_;
  Mode mode_;
  Spawn& spawn_;
  std::string log_path_;
  asio::posix::stream_descriptor socket_;
  Event changed_;  // pulsed when a sandbox was opened, or it died
  std::map<std::string, Guarded> guarded_;
  std::vector<Closing> closing_;
  asio::steady_timer goodbye_;
  std::deque<Outgoing> outgoing_;
  asio::steady_timer impatience_;
  std::shared_ptr<Spawn::Waiting> process_;
  bool serving_ = false, ready_ = false, death_told_ = false;
  uint64_t deaths_ = 0, dropped_ = 0;
  std::string last_death_;
  std::chrono::steady_clock::time_point started_{};
  int64_t resolver_stamp_ = 0, host_ca_stamp_ = 0;
  bool host_cas_sent_ = false;
};

}  // namespace cloche::daemon
