#include "daemon/egress_link.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <sstream>

#include "base/text.h"
#include "daemon/host_ca.h"
#include "daemon/text_of.h"
#include "sys/file.h"
#include "sys/file_times.h"
#include "sys/message.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostMessage = 64 << 10;
constexpr int kMessagesPerTurn = 64;
constexpr size_t kMostHosts = 500;
constexpr size_t kMostHostBytes = 32 << 10;  // keeps the message below its limit
constexpr size_t kMostCaBytes = 48 << 10;
constexpr size_t kMostServers = 16, kMostServerText = 256;
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kLongEnough{5};  // after living this long, it is restarted at once
constexpr std::chrono::milliseconds kPause{500};
constexpr std::chrono::milliseconds kGoodbye{300};
constexpr const char* kPlaceholder = "sb_egress";  // every request names a sandbox

// Tests set their own resolver.
std::string ResolverFile() {
  const char* file = getenv("CLOCHE_RESOLV_CONF");
  return file && *file ? file : "/etc/resolv.conf";
}
std::string HostsFile() {
  const char* file = getenv("CLOCHE_HOSTS");
  return file && *file ? file : "/etc/hosts";
}

int64_t ResolverStamp() {
  return sys::ModifiedNanos(ResolverFile().c_str()) ^
         (sys::ModifiedNanos(HostsFile().c_str()) << 1);
}

// The words of each line, without comments.
std::vector<std::vector<std::string>> WordsOf(const std::string& path) {
  std::string text;
  std::vector<std::vector<std::string>> lines;
  if (sys::ReadFileAt(AT_FDCWD, path.c_str(), text) < 0) return lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line.substr(0, line.find_first_of("#;")));
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    if (!list.empty()) lines.push_back(std::move(list));
  }
  return lines;
}

}  // namespace

bool EgressLink::IsOpen(const std::string& sandbox) const {
  const auto found = guarded_.find(sandbox);
  return found != guarded_.end() && found->second.opened;
}

Task<Status> EgressLink::Open(std::string sandbox, Border border) {
  Guarded& made = guarded_[sandbox];
  made = {};
  made.border = std::move(border);
  if (!serving_) {
    serving_ = true;
    asio::co_spawn(io_, Serve(), kDetached);
  } else if (ready_) {
    SendOpen(sandbox, guarded_[sandbox]);
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  asio::steady_timer patience(io_, deadline);
  patience.async_wait([this](boost::system::error_code error) {
    if (!error) changed_.Pulse();
  });
  const uint64_t deaths = deaths_;
  std::string error;
  while (guarded_.contains(sandbox) && !IsOpen(sandbox) && deaths_ < deaths + 2 && error.empty() &&
         std::chrono::steady_clock::now() < deadline) {
    co_await changed_.Wait();
    if (const auto found = guarded_.find(sandbox); found != guarded_.end())
      error = found->second.error;
  }
  if (IsOpen(sandbox)) co_return Status{};
  Close(sandbox);
  if (!error.empty())
    co_return Fail(Code::kInternal, "open the network: " + EscapeForTerminal(error), "report this");
  co_return Fail(Code::kUnavailable,
                 last_death_.empty() ? "open the network: cloche-egress does not answer"
                                     : "open the network: " + last_death_,
                 "is cloche-egress installed beside cloched? " + log_path_ + " may say more");
}

Task<void> EgressLink::SetRules(std::string sandbox, Json rules) {
  const auto found = guarded_.find(sandbox);
  if (found == guarded_.end()) co_return;
  found->second.border.rules = std::move(rules);
  const uint64_t number = ++found->second.rules_sent;
  if (!ready_) co_return;  // nothing passes; they are sent when it is opened
  const Json message = {
      {"op", "rules"}, {"sandbox", sandbox}, {"rules", found->second.border.rules}};
  Send(message);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  asio::steady_timer patience(io_, deadline);
  patience.async_wait([this](boost::system::error_code error) {
    if (!error) changed_.Pulse();
  });
  const auto taken = [&] {
    const auto now = guarded_.find(sandbox);
    if (now == guarded_.end()) return true;
    if (!now->second.opened) return !now->second.error.empty();
    return now->second.rules_taken >= number;
  };
  while (!taken() && std::chrono::steady_clock::now() < deadline) co_await changed_.Wait();
  if (!taken()) Cut();  // it does not listen: replace it
}

void EgressLink::SendSecrets(const std::string& sandbox) {
  const auto found = guarded_.find(sandbox);
  if (found != guarded_.end() && ready_) SendSecretsOf(sandbox, found->second);
}

void EgressLink::SendSecretsOf(const std::string& sandbox, Guarded& guarded) {
  if (guarded.border.redacted) {
    for (RedactedValue& each : guarded.border.redacted()) {
      Json message = {
          {"op", "redact"}, {"sandbox", sandbox}, {"value", each.value}, {"hosts", each.hosts}};
      Wipe(each.value);
      Send(message);
      Wipe(message["value"].get_ref<std::string&>());
    }
  }
  if (!guarded.border.secrets) return;
  SecretValues values = guarded.border.secrets();
  std::set<std::string> before = std::exchange(guarded.secrets_sent, {});
  for (const auto& [name, value] : values) {
    before.erase(name);
    guarded.secrets_sent.insert(name);
  }
  for (const std::string& name : before) values.emplace_back(name, "");  // no longer granted
  for (auto& [name, value] : values) {
    Json message = {{"op", "secret"}, {"sandbox", sandbox}, {"name", name}, {"value", value}};
    Wipe(value);
    Send(message);
    Wipe(message["value"].get_ref<std::string&>());
  }
}

void EgressLink::NameOwner(const std::string& sandbox, uint64_t connection) {
  const Json message = {{"op", "owner"}, {"sandbox", sandbox}, {"connection", connection}};
  if (ready_ && !death_told_) Send(message);
}

void EgressLink::Close(const std::string& sandbox) {
  const auto found = guarded_.find(sandbox);
  if (found == guarded_.end()) return;
  Closing closing{sandbox, std::move(found->second.border), std::chrono::steady_clock::now()};
  guarded_.erase(found);
  changed_.Pulse();
  if (ready_) {
    const Json message = {{"op", "close"}, {"sandbox", sandbox}};
    Send(message);
  }
  closing.border.sockets.clear();
  closing_.push_back(std::move(closing));
  SayGoodbyeLater();
}

void EgressLink::SayGoodbyeLater() {
  goodbye_.expires_after(kGoodbye);
  goodbye_.async_wait([this](boost::system::error_code error) {
    if (!error) SayGoodbye(false);
  });
}

void EgressLink::SayGoodbye(bool all) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<Closing> left;
  for (Closing& each : std::exchange(closing_, {}))
    if (!all && now - each.since < kGoodbye)
      left.push_back(std::move(each));
    else if (each.border.on_over)
      each.border.on_over();
  closing_.insert(closing_.end(), std::make_move_iterator(left.begin()),
                  std::make_move_iterator(left.end()));
  if (!closing_.empty()) return SayGoodbyeLater();
  if (!guarded_.empty()) return;
  boost::system::error_code ignored;
  (void)socket_.close(ignored);  // it reads the end and exits
}

Status EgressLink::Start() {
  sys::Fd ours, theirs;
  if (int error = sys::MakeSocketPair(ours, theirs); error < 0)
    return Fail(Code::kInternal, fmt::format("make socket: {}", strerror(-error)));
  sys::SetNonBlocking(ours.get());
  const sys::Fd log(open(log_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const int fds[] = {theirs.get(), log.get()};
  process_ = spawn_.Send(kPlaceholder, ask::Egress(), fds);
  socket_.assign(ours.Release());
  started_ = std::chrono::steady_clock::now();
  host_cas_sent_ = false;
  return {};
}

Task<void> EgressLink::Serve() {
  while (!guarded_.empty() && !spawn_.lost()) {
    if (Status started = Start(); started) {
      SendResolver();
      for (auto& [sandbox, guarded] : guarded_) SendOpen(sandbox, guarded);
      ready_ = true;
      death_told_ = false;
      co_await ReadLoop();
      ready_ = false;
      ForgetWaiting();
      goodbye_.cancel();
      SayGoodbye(true);
      boost::system::error_code ignored;
      (void)socket_.close(ignored);
      if (guarded_.empty()) {
        (void)co_await Spawn::Finish(process_);
        continue;
      }
      TellDeath();
      Cut();
      const SpawnAnswer end = co_await Spawn::Finish(process_);
      last_death_ = end.reply.value == 0 ? "cloche-egress ended" : end.reply.operation;
      if (*end.reply.detail != '\0') last_death_ += fmt::format(" ({})", end.reply.detail);
    } else {
      last_death_ = started.error().message;
    }
    if (spawn_.lost()) break;
    ++deaths_;
    changed_.Pulse();
    if (std::chrono::steady_clock::now() - started_ < kLongEnough) {
      asio::steady_timer pause(io_, deaths_ < 3 ? std::chrono::milliseconds(1) : kPause);
      co_await pause.async_wait(kAwait);
    }
  }
  serving_ = false;
}

Task<void> EgressLink::ReadLoop() {
  for (;;) {
    auto [error] = co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    if (error || !socket_.is_open()) co_return;
    Received received = Received::kOne;
    for (int i = 0; i < kMessagesPerTurn && received == Received::kOne; ++i)
      received = ReceiveOne();
    if (received == Received::kEnd) co_return;
  }
}

EgressLink::Received EgressLink::ReceiveOne() {
  static char text[kMostMessage];
  if (!socket_.is_open()) return Received::kEnd;
  int fd_count = 0;
  const long got =
      sys::ReceiveMessage(socket_.native_handle(), text, sizeof text, {}, fd_count, true);
  if (got == -EMSGSIZE) return Received::kOne;  // too long to be valid
  if (got == -EAGAIN || got == -EINTR) return Received::kNothing;
  if (got <= 0) return Received::kEnd;
  Handle(std::string(text, static_cast<size_t>(got)));
  return Received::kOne;
}

void EgressLink::Drain() {
  Received received = Received::kOne;
  for (int left = kMessagesPerTurn * 16; left > 0 && received == Received::kOne; --left)
    received = ReceiveOne();
  if (received == Received::kEnd && ready_ && socket_.is_open()) TellDeath();
}

void EgressLink::TellDeath() {
  if (guarded_.empty() || std::exchange(death_told_, true)) return;
  for (auto& [sandbox, guarded] : guarded_) guarded.opened = false;
  if (on_death) on_death("cloche-egress died");
}

// It talks to the whole world, so its messages are not trusted.
void EgressLink::Handle(const std::string& text) {
  const Json event = Json::parse(text, nullptr, false);
  if (!event.is_object()) return;
  const std::string kind = TextOf(event, "event"), sandbox = TextOf(event, "sandbox");
  if (kind == "dropped" && event.contains("count") && event["count"].is_number_unsigned())
    dropped_ += event["count"].get<uint64_t>();
  const auto found = guarded_.find(sandbox);
  if (found == guarded_.end()) {
    const auto closing = std::ranges::find(closing_, sandbox, &Closing::sandbox);
    if (kind == "connection" && closing != closing_.end() && closing->border.on_connection)
      closing->border.on_connection(event);
    return;
  }
  Guarded& guarded = found->second;
  if (kind == "connection") {
    if (guarded.border.on_connection) guarded.border.on_connection(event);
    return;
  }
  if (kind == "opened") {
    guarded.opened = true;
    guarded.rules_taken = guarded.opened_with;  // newer ones are on their way
  } else if (kind == "rules") {
    ++guarded.rules_taken;
  } else if (kind == "error") {
    guarded.error = TextOf(event, "message");
  }
  changed_.Pulse();
}

void EgressLink::Send(const Json& message, const std::vector<int>& fds) {
  if (!socket_.is_open()) return;
  Outgoing next{message.dump(-1, ' ', false, Json::error_handler_t::replace), {}};
  if (outgoing_.empty()) {
    const long sent =
        sys::SendMessage(socket_.native_handle(), next.text.data(), next.text.size(), fds);
    if (sent >= 0) return Wipe(next.text);
    if (sent != -EAGAIN) return Cut();
  }
  // Duplicates: the sandbox may be closed before its sockets are sent.
  for (const int fd : fds) next.fds.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  outgoing_.push_back(std::move(next));
  if (outgoing_.size() > 1) return;
  BePatient();
  SendWaitingLater();
}

void EgressLink::BePatient() {
  impatience_.expires_after(kPatience);
  impatience_.async_wait([this](boost::system::error_code error) {
    const bool late = impatience_.expiry() <= std::chrono::steady_clock::now();
    if (!error && late && !outgoing_.empty()) Cut();  // no progress
  });
}

void EgressLink::SendWaitingLater() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                     [this](boost::system::error_code error) {
                       if (!error && socket_.is_open()) SendWaiting();
                     });
}

void EgressLink::SendWaiting() {
  while (!outgoing_.empty()) {
    const Outgoing& next = outgoing_.front();
    std::vector<int> fds;
    for (const sys::Fd& each : next.fds) fds.push_back(each.get());
    const long sent =
        sys::SendMessage(socket_.native_handle(), next.text.data(), next.text.size(), fds);
    if (sent == -EAGAIN) return SendWaitingLater();
    if (sent < 0) return Cut();
    Wipe(outgoing_.front().text);
    outgoing_.pop_front();
    BePatient();
  }
  impatience_.cancel();
}

void EgressLink::ForgetWaiting() {
  outgoing_.clear();
  impatience_.cancel();
}

// If it does not listen, it enforces outdated rules.
void EgressLink::Cut() {
  if (!process_ || process_->done.is_set()) return;
  (void)spawn_.Send(kPlaceholder, ask::EndJob{process_->number});
}

void EgressLink::SendOpen(const std::string& sandbox, Guarded& guarded) {
  const Border& border = guarded.border;
  SendSecretsOf(sandbox, guarded);  // before its first request can come
  if (!border.authority.is_null() && !host_cas_sent_) SendHostCas();
  guarded.opened_with = guarded.rules_sent;
  guarded.error.clear();
  Json message = {
      {"op", "open"},          {"sandbox", sandbox},      {"sockets", border.socket_names},
      {"rules", border.rules}, {"limits", border.limits}, {"owners", true}};
  if (!border.name.empty()) message["name"] = border.name;
  if (!border.authority.is_null()) message["ca"] = border.authority;
  if (!border.canaries.empty()) message["canaries"] = border.canaries;
  std::vector<int> fds;
  for (const sys::Fd& each : border.sockets) fds.push_back(each.get());
  Send(message, fds);
}

void EgressLink::SendResolver() {
  resolver_stamp_ = ResolverStamp();
  Json servers = Json::array(), hosts = Json::array();
  for (const auto& words : WordsOf(ResolverFile()))
    if (words[0] == "nameserver" && words.size() > 1 && servers.size() < kMostServers &&
        words[1].size() < kMostServerText)
      servers.push_back(words[1]);
  size_t bytes = 0;
  for (const auto& words : WordsOf(HostsFile()))
    for (size_t i = 1; i < words.size() && hosts.size() < kMostHosts; ++i) {
      Json pair = Json::array({words[0], words[i]});
      const size_t size = pair.dump(-1, ' ', false, Json::error_handler_t::replace).size() + 1;
      if (bytes + size > kMostHostBytes) continue;
      bytes += size;
      hosts.push_back(std::move(pair));
    }
  const Json message = {{"op", "resolver"}, {"nameservers", servers}, {"hosts", hosts}};
  Send(message);
}

void EgressLink::SetAuthority(const std::string& sandbox, Json authority) {
  const auto found = guarded_.find(sandbox);
  if (found == guarded_.end()) return;
  found->second.border.authority = std::move(authority);
  if (!ready_) return;  // sent when it is opened
  if (!host_cas_sent_) SendHostCas();
  const Json message = {
      {"op", "authority"}, {"sandbox", sandbox}, {"ca", found->second.border.authority}};
  Send(message);
}

void EgressLink::SendHostCas() {
  host_ca_stamp_ = HostCaStamp(mode_);
  host_cas_sent_ = true;
  const std::vector<std::string> parts = CertificatesInParts(ReadHostCas(mode_), kMostCaBytes);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Json message = {{"op", "host_ca"},
                          {"certificates", parts[i]},
                          {"first", i == 0},
                          {"more", i + 1 < parts.size()}};
    Send(message);
  }
}

void EgressLink::CheckHost() {
  if (ready_ && ResolverStamp() != resolver_stamp_) SendResolver();
  if (ready_ && host_cas_sent_ && HostCaStamp(mode_) != host_ca_stamp_) SendHostCas();
}

Json EgressLink::Describe() const {
  const char* state = guarded_.empty() ? "not needed" : ready_ ? "running" : "starting";
  Json json = {{"state", state}, {"deaths", deaths_}};
  if (dropped_ > 0) json["dropped_events"] = dropped_;
  if (!last_death_.empty()) json["last_death"] = last_death_;
  return json;
}

}  // namespace cloche::daemon
