#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "egress/channel.h"
#include "egress/decide.h"
#include "egress/loop.h"
#include "egress/reports.h"
#include "egress/resolver.h"
#include "egress/sandbox.h"

namespace cloche::egress {

class Trust;
class RelayBuffers;

// Shared by all connections; lives as long as the process.
struct Services {
  Loop& loop;
  Reports& reports;
  Resolver& resolver;
  RelayBuffers& buffers;
  Trust& trust;
};

// One connection of a sandbox, from accept to its record. The coroutine that serves it owns it.
class Connection {
 public:
  Connection(Services& services, std::shared_ptr<Sandbox> sandbox, sys::Fd client,
             uint16_t source_port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Services& services;
  std::shared_ptr<Sandbox> sandbox;
  Channel client;
  std::unique_ptr<Channel> upstream;
  Target target;
  Record record;
  std::unique_ptr<CanaryWatch> watch;  // with decoys only

  // The kind it was let through as, once known: changed rules are compared with it.
  std::optional<Kind> served;
  bool opaque = false;  // bytes pass unread: rules about requests cannot be kept
  struct Asked {
    std::string method, path;
    bool overrides_method = false, overrides_path = false;
  };
  std::list<Asked> asked;  // the requests that are under way: in HTTP/1.1 it is one

  // Decides on `where` and counts it as a request. When it is let through, the record says by which
  // rule; when not, it has been reported, and the reason is for the program.
  ConnectionDecision Admit(const Target& where);
  bool over_limit() const { return over_limit_; }
  // By the rules as they are now. Where a secret has been sent, requests and answers are read.
  ConnectionDecision Decide() const;
  // True if the rules still let it through.
  bool StillGranted() const;

  // A refusal after all: the name in the hello is another, the address is private, ...
  void Deny(const std::string& reason, const std::string& rule = "");
  // Reports that it is on its way to the other side.
  void TellOpen();
  // One event, of this connection or of a request on it.
  void Report(const Record& event, bool open = false);
  // Waits until the daemon knows the owner, as far as possible: then the program may continue, and
  // end.
  Task<void> OwnerKnown();
  // One more request on an open connection; false over the limit.
  bool TakeRequest();
  // Ends everything under way with a reset.
  void Cut(const std::string& reason);
  // Nobody reads the answer. The server still gets what it was sent, unless it is answering
  // already, and learns that this is the end.
  void Leave(const std::string& reason);
  // True if it has sent a decoy. That is reported once, and the connection is cut.
  bool Betrayed();
  // Looks for a decoy in a part of `message`, while other connections may run. True: it is over.
  Task<bool> Betrays(CanaryScanner& message, std::string_view bytes);
  // Counts bytes before they are passed on. False over the limit: it is cut, and they must not
  // pass.
  bool Count(bool up, uint64_t bytes);
  bool denied() const { return told_; }

  int64_t Deadline(int64_t milliseconds) const { return services.loop.now() + milliseconds; }
  int64_t IdleDeadline() const;
  int64_t last_activity = 0;

 private:
  void Tell();
  void TellCanary();

  uint64_t told_as_ = 0;  // the number of the event whose owner the daemon is asked for
  bool told_canary_ = false;
  std::string counted_host_;  // in usage, until we end
  bool counted_ = false, over_limit_ = false, told_ = false, told_open_ = false;
  int64_t started_ = 0;
};

inline constexpr int64_t kHeadPatienceMs = 15'000;  // for a hello, a head, a SOCKS request
inline constexpr int64_t kConnectPatienceMs = 10'000;
inline constexpr int64_t kWritePatienceMs = 60'000;

int64_t WallClockMs();

}  // namespace cloche::egress
