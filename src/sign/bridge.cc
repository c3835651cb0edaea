#include "sign/bridge.h"

#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error_json.h"
#include "sign/dialer.h"
#include "sys/message.h"

namespace cloche::sign {
namespace {

using nlohmann::json;

constexpr size_t kMostConnections = 32;
constexpr size_t kMostControl = 64 << 10;
constexpr size_t kMostRefusalsTold = 30;  // a minute
constexpr size_t kMostAsked = 50;         // a second
constexpr int kAgentPatienceMs = 5000;
constexpr std::chrono::minutes kWindow{1};

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Appends the bytes that are there. False: the other side has gone.
bool ReadInto(int socket, std::string& to) {
  char buffer[16 << 10];
  const ssize_t count = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  to.append(buffer, static_cast<size_t>(count));
  return count > 0;
}

bool WriteFrom(int socket, std::string& from) {
  const ssize_t count = send(socket, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  from.erase(0, static_cast<size_t>(count));
  return true;
}

void Forget(std::deque<std::chrono::steady_clock::time_point>& times,
            std::chrono::steady_clock::time_point now) {
  while (!times.empty() && now - times.front() >= kWindow) times.pop_front();
}

}  // namespace

void Bridge::Run() {
  while (!quit_) {
    std::vector<pollfd> polls = {
        {control_.get(), POLLIN, 0},
        {connections_.size() < kMostConnections ? listener_.get() : -1, POLLIN, 0}};
    for (const Connection& each : connections_) {
      const bool busy = each.awaits != Awaits::kNothing || !each.to_inside.empty();
      polls.push_back(
          {each.inside.get(),
           static_cast<short>((busy ? 0 : POLLIN) | (each.to_inside.empty() ? 0 : POLLOUT)), 0});
      polls.push_back({each.agent.get(),  // -1 is not looked at
                       static_cast<short>(POLLIN | (each.to_agent.empty() ? 0 : POLLOUT)), 0});
    }
    if (poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR) return;
    // Revocations take effect before anything else happens.
    if (polls[0].revents != 0) TakeControl();
    size_t at = 2;
    for (Connection& each : connections_) {
      const short inside = polls[at].revents, agent = polls[at + 1].revents;
      at += 2;
      if (agent != 0 && !each.over) {
        if ((agent & POLLOUT) != 0 && !WriteFrom(each.agent.get(), each.to_agent))
          each.over = true;
        else if ((agent & ~POLLOUT) != 0)
          ReadAgent(each);
      }
      if (inside == 0 || each.over) continue;
      const bool broken = (inside & POLLOUT) != 0 && !WriteFrom(each.inside.get(), each.to_inside);
      if (!broken && (inside & POLLIN) != 0)
        ReadInside(each);
      else if (broken || (inside & (POLLHUP | POLLERR | POLLNVAL)) != 0)
        each.over = true;
    }
    connections_.remove_if([](const Connection& each) { return each.over; });
    if (polls[1].revents != 0) Accept();
  }
}

void Bridge::TakeControl() {
  static char text[kMostControl];
  int none = 0;
  const long got = sys::ReceiveMessage(control_.get(), text, sizeof text, {}, none, true);
  if (got == -EAGAIN || got == -EINTR) return;
  const json message =
      got > 0 ? json::parse(std::string_view(text, static_cast<size_t>(got)), nullptr, false)
              : json();
  if (!message.is_object()) {
    quit_ = true;  // gone, or not to be understood: closed
    return;
  }
  SetKeys(message);
}

void Bridge::SetKeys(const json& message) {
  const json number = message.value("number", json());
  auto wanted = [&]() -> Result<std::vector<Grant>> {
    std::vector<Grant> grants;
    bool unnamed = false;
    for (const json& each : message.value("keys", json::array())) {
      ASSIGN_OR_RETURN(Grant grant, GrantFromJson(each));
      unnamed = unnamed || grant.fingerprint.empty();
      grants.push_back(std::move(grant));
    }
    if (!unnamed) return grants;
    ASSIGN_OR_RETURN(const std::vector<Identity> identities, AskIdentities());
    CLOCHE_TRY(Resolve(grants, identities));
    return grants;
  }();
  if (!wanted) {
    Tell({{"event", "refused"}, {"number", number}, {"error", ErrorJson(wanted.error())}});
    return;
  }
  grants_ = std::move(*wanted);
  per_minute_ = message.value("per_minute", size_t{0});
  json keys = json::array();
  for (const Grant& each : grants_) keys.push_back(ToJson(each));
  Tell({{"event", "keys"}, {"number", number}, {"keys", std::move(keys)}});
}

Result<std::vector<Identity>> Bridge::AskIdentities() {
  const auto failed = [](const char* why) {
    return cloche::Fail(Code::kUnavailable, fmt::format("ask the ssh-agent: {}", why),
                        "is it running? SSH_AUTH_SOCK names its socket");
  };
  const sys::Fd agent(Dial(dialer_.get()));
  if (!agent.valid()) return failed(strerror(-agent.get()));
  const std::string request = Framed(std::string(1, char{kRequestIdentities}));
  if (send(agent.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    return failed(strerror(errno));
  std::string bytes;
  const auto deadline = Clock::now() + std::chrono::milliseconds(kAgentPatienceMs);
  for (;;) {
    std::string_view message;
    size_t used = 0;
    const Framing framing = TakeMessage(bytes, kMostAnswer, message, used);
    if (framing == Framing::kBad) return failed("it does not speak as one");
    if (framing == Framing::kDone) {
      auto identities = ParseIdentities(message);
      if (!identities) return failed("it lists no keys");
      return std::move(*identities);
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready{agent.get(), POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0)
      return failed("it does not answer");
    if (!ReadInto(agent.get(), bytes)) return failed("it hung up");
  }
}

void Bridge::Accept() {
  const int made = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (made < 0) return;
  connections_.emplace_back();
  connections_.back().inside = sys::Fd(made);
}

void Bridge::ReadInside(Connection& connection) {
  if (!ReadInto(connection.inside.get(), connection.from_inside)) {
    connection.over = true;
    return;
  }
  std::string_view message;
  size_t used = 0;
  const Framing framing = TakeMessage(connection.from_inside, kMostRequest, message, used);
  if (framing == Framing::kMore) return;
  // One at a time: a client that sends more before it is answered is not ssh.
  if (framing == Framing::kBad || used != connection.from_inside.size()) {
    connection.over = true;
    return;
  }
  const std::string copy(message);
  connection.from_inside.clear();
  Serve(connection, copy);
}

void Bridge::Serve(Connection& connection, std::string_view message) {
  const auto type = static_cast<uint8_t>(message[0]);
  if (type == kRequestIdentities && message.size() == 1)
    return Ask(connection, message, Awaits::kIdentities);
  if (type == kSignRequest) {
    const auto request = ParseSignRequest(message);
    if (!request) return Fail(connection);
    const Verdict verdict = Judge(*request, grants_, connection.bound);
    std::string refusal = verdict.refusal;
    if (refusal.empty() && !MaySign())
      refusal = fmt::format("more than {} signatures in a minute", per_minute_);
    if (!refusal.empty()) {
      Record(verdict, refusal);
      return Fail(connection);
    }
    return Ask(connection, WriteSignRequest(*request), Awaits::kSignature);
  }
  // The agent checks that it is true. A session bound for forwarding would sign for others.
  if (type == kExtension) {
    const auto bind = ParseSessionBind(message);
    if (bind && !bind->forwarding && connection.bound.session.empty())
      return Ask(connection, message, Awaits::kBind);
    return Fail(connection);
  }
  Verdict verdict;
  verdict.use = "agent";
  Record(verdict,
         fmt::format("message {} is not for a sandbox: keys are neither added, removed nor "
                     "locked from inside",
                     type));
  Fail(connection);
}

void Bridge::Ask(Connection& connection, std::string_view message, Awaits awaits) {
  if (!MayAsk()) return Fail(connection);
  if (!connection.agent.valid()) connection.agent = sys::Fd(Dial(dialer_.get()));
  if (!connection.agent.valid()) {
    Verdict verdict;
    verdict.use = "agent";
    Record(verdict, "the ssh-agent does not answer");
    return Fail(connection);
  }
  connection.request = message;
  connection.awaits = awaits;
  connection.from_agent.clear();
  connection.to_agent = Framed(message);
}

void Bridge::ReadAgent(Connection& connection) {
  const bool there = ReadInto(connection.agent.get(), connection.from_agent);
  std::string_view message;
  size_t used = 0;
  const Framing framing = TakeMessage(connection.from_agent, kMostAnswer, message, used);
  if (framing == Framing::kDone && used == connection.from_agent.size() &&
      connection.awaits != Awaits::kNothing) {
    const std::string copy(message);
    connection.from_agent.clear();
    return Answered(connection, copy);
  }
  if (there && framing == Framing::kMore && connection.awaits != Awaits::kNothing) return;
  // It hung up, or sent something unsolicited.
  connection.agent.Reset();
  connection.to_agent.clear();
  connection.bound = {};
  if (connection.awaits != Awaits::kNothing) Answered(connection, std::string(1, char{kFailure}));
}

void Bridge::Answered(Connection& connection, std::string_view message) {
  const Awaits awaited = std::exchange(connection.awaits, Awaits::kNothing);
  if (awaited == Awaits::kSignature) return AnswerSignature(connection, message);
  if (awaited == Awaits::kIdentities) {
    const auto identities = ParseIdentities(message);
    if (!identities) return Fail(connection);
    return Reply(connection, WriteIdentities(GrantedOf(*identities, grants_)));
  }
  const auto bind = ParseSessionBind(connection.request);
  if (!bind || message != std::string(1, char{kSuccess})) return Fail(connection);
  connection.bound = {std::string(bind->session), std::string(bind->host_key)};
  Reply(connection, message);
}

void Bridge::AnswerSignature(Connection& connection, std::string_view message) {
  const auto request = ParseSignRequest(connection.request);
  if (!request) return Fail(connection);
  const Verdict verdict = Judge(*request, grants_, connection.bound);  // it may have been revoked
  std::string refusal = verdict.refusal;
  if (refusal.empty() && !IsSignResponse(message)) refusal = "the ssh-agent refused";
  const bool told = Record(verdict, refusal);
  if (!refusal.empty() || !told) return Fail(connection);  // none that nobody knows of
  Reply(connection, message);
}

void Bridge::Reply(Connection& connection, std::string_view message) {
  connection.to_inside += Framed(message);
}

bool Bridge::MaySign() {
  const auto now = Clock::now();
  Forget(signatures_, now);
  if (signatures_.size() >= per_minute_) return false;
  signatures_.push_back(now);
  return true;
}

// The agent belongs to the user, and others wait for it.
bool Bridge::MayAsk() {
  const auto now = Clock::now();
  if (now - second_ > std::chrono::seconds(1)) {
    second_ = now;
    asked_ = 0;
  }
  return ++asked_ <= kMostAsked;
}

bool Bridge::Tell(const json& event) {
  const std::string text = event.dump(-1, ' ', false, json::error_handler_t::replace);
  return sys::SendMessage(control_.get(), text.data(), text.size()) > 0;
}

bool Bridge::Record(const Verdict& verdict, const std::string& refusal) {
  json event = {{"event", "signature"}, {"time", Now()}, {"use", verdict.use}};
  if (!refusal.empty()) {
    const auto now = Clock::now();
    Forget(refusals_, now);
    if (refusals_.size() >= kMostRefusalsTold) {
      ++untold_;
      return true;
    }
    refusals_.push_back(now);
  }
  event["decision"] = refusal.empty() ? "allow" : "deny";
  if (!refusal.empty()) event["reason"] = refusal;
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) event[key] = text;
  };
  add("fingerprint", verdict.fingerprint);
  add("comment", verdict.comment);
  add("user", verdict.user);
  add("host", verdict.host);
  add("namespace", verdict.name_space);
  if (untold_ > 0) event["untold"] = untold_;
  if (!Tell(event)) return false;
  untold_ = 0;
  return true;
}

}  // namespace cloche::sign
