#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "egress/loop.h"
#include "egress/task.h"

namespace cloche::egress {

// One connection, or one refusal, as the daemon writes it down.
struct Record {
  uint64_t connection = 0;  // the same in the events of one connection, of no other
  std::string sandbox;
  int64_t time_ms = 0;  // since 1970
  std::string kind;     // https, http, tcp, ssh, dns, socks, connect
  std::string name, address;
  uint16_t port = 0, source_port = 0;
  bool allowed = false;
  std::string rule, reason;
  uint64_t bytes_up = 0, bytes_down = 0;
  int64_t duration_ms = 0;
  std::string certificate_sha256;
  uint64_t requests = 0;                    // of http
  std::map<std::string, uint64_t> secrets;  // requests that each was put into
  std::string canary, form;                 // a decoy that was on its way, and as what
  uint64_t redacted = 0;                    // answers in which a secret was covered
  bool unasked = false;                     // this one, though its request had no placeholder
};

uint64_t NextConnectionNumber();

// Reports to the daemon, which may be slow and must not slow us down: connections that do not fit
// into the queue are counted, and the number is reported. Answers to the daemon go first, and
// always.
class Reports {
 public:
  explicit Reports(Socket& control) : control_(control) {}
  void Send(const nlohmann::ordered_json& message);
  bool Send(const Record& record, bool open = false);  // false: it did not fit
  Task<void> Run();                                    // sends what waits, for ever

 private:
  struct Event {
    std::string sandbox, text;
  };
  void Flush();
  bool Put(const std::string& text);  // false: not now

  Socket& control_;
  std::deque<std::string> answers_;
  std::deque<Event> events_;
  std::map<std::string, size_t>
      events_of_;                         // of each sandbox that has some: no more than its share
  std::map<std::string, size_t> alarms_;  // decoys that were told, of each sandbox
  uint64_t dropped_ = 0;
};

}  // namespace cloche::egress
