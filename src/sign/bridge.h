#pragma once

#include <chrono>
#include <deque>
#include <list>
#include <string>
#include <vector>

#include "sign/grants.h"
#include "sys/fd.h"

namespace cloche::sign {

// Serves the programs of one sandbox an agent that lists granted keys and signs with them. One
// poll, one request at a time for each connection. Every signature is reported to the daemon before
// a program inside has it.
class Bridge {
 public:
  Bridge(sys::Fd control, sys::Fd listener, sys::Fd dialer)
      : control_(std::move(control)), listener_(std::move(listener)), dialer_(std::move(dialer)) {}
  void Run();  // until the daemon hangs up

 private:
  using Clock = std::chrono::steady_clock;
  enum class Awaits { kNothing, kIdentities, kBind, kSignature };
  struct Connection {
    sys::Fd inside, agent;
    std::string from_inside, to_inside, from_agent, to_agent;
    Awaits awaits = Awaits::kNothing;
    std::string request;  // that the agent was asked
    BoundSession bound;
    bool over = false;
  };

  void TakeControl();
  void SetKeys(const nlohmann::json& message);
  Result<std::vector<Identity>> AskIdentities();
  void Accept();
  void ReadInside(Connection& connection);
  void ReadAgent(Connection& connection);
  void Serve(Connection& connection, std::string_view message);
  void Ask(Connection& connection, std::string_view message, Awaits awaits);
  void Answered(Connection& connection, std::string_view message);
  void AnswerSignature(Connection& connection, std::string_view message);
  void Reply(Connection& connection, std::string_view message);
  void Fail(Connection& connection) { Reply(connection, std::string(1, char{kFailure})); }
  bool MaySign();  // within the limit of a minute; counts
  bool MayAsk();   // within what an agent is troubled with in a second; counts
  bool Tell(const nlohmann::json& event);
  bool Record(const Verdict& verdict, const std::string& refusal);

  sys::Fd control_, listener_, dialer_;
  std::vector<Grant> grants_;
  size_t per_minute_ = 0;
  std::deque<Clock::time_point> signatures_, refusals_;  // of the last minute
  Clock::time_point second_{};
  size_t asked_ = 0;     // in that second
  uint64_t untold_ = 0;  // refusals beyond what is told
  std::list<Connection> connections_;
  bool quit_ = false;
};

}  // namespace cloche::sign
