#include "daemon/sandbox_network.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "daemon/network_line.h"
#include "daemon/text_of.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostOpen = 10'000;
constexpr size_t kMostBehind = 1000;
constexpr size_t kMostText = 1024;

// Fields that a record may hold. Anything else from cloche-egress is dropped.
constexpr std::array kTexts = {"time",     "kind", "name",   "address",
                               "decision", "rule", "reason", "certificate_sha256",
                               "canary",   "form"};
constexpr std::array kNumbers = {"port",        "source_port", "bytes_up", "bytes_down",
                                 "duration_ms", "requests",    "redacted", "unasked"};

constexpr std::array kOwner = {"pid", "process"};  // inside; only we set these
constexpr size_t kMostAsked = 64;
constexpr int kMostAskedPerSecond = 100;

Json RecordOf(const Json& event) {
  Json record;
  for (const char* key : kTexts)
    if (const auto found = event.find(key); found != event.end() && found->is_string())
      record[key] = found->get_ref<const std::string&>().substr(0, kMostText);
    else if (found != event.end() && found->is_number())
      record[key] = *found;
  for (const char* key : kNumbers)
    if (const auto found = event.find(key); found != event.end() && found->is_number())
      record[key] = *found;
  if (const auto secrets = event.find("secrets"); secrets != event.end() && secrets->is_object()) {
    std::string names;
    for (const auto& [name, uses] : secrets->items()) names += (names.empty() ? "" : ", ") + name;
    record["secret"] = names.substr(0, kMostText);
  }
  return record;
}

}  // namespace

std::string DestinationOf(const Json& record) {
  std::string host = TextOf(record, "name");
  if (host.empty()) host = TextOf(record, "address");
  if (TextOf(record, "name").empty() && host.find(':') != std::string::npos)
    host = "[" + host + "]";
  const auto port = record.find("port");
  if (port == record.end() || !port->is_number()) return host;
  return fmt::format("{}:{}", host, port->get<int64_t>());
}

bool SandboxNetwork::Take(const Json& event, Json& record) {
  record = RecordOf(event);
  const auto number = event.find("connection");
  const bool known = number != event.end() && number->is_number_unsigned();
  const uint64_t connection = known ? number->get<uint64_t>() : 0;
  if (TextOf(event, "state") == "open") {
    const bool kept = known && open_.size() < kMostOpen;
    if (kept) open_[connection] = record;
    if (!kept || !Ask(record, {0, connection, std::nullopt})) Named(connection);
    return false;
  }
  const auto begun = open_.find(connection);
  if (begun != open_.end()) {
    for (const char* key : kOwner)
      if (begun->second.contains(key)) record[key] = begun->second[key];
    open_.erase(begun);
  }
  const bool denied = TextOf(record, "decision") == "deny";
  if (record.contains(kOwner[0]) || !Ask(record, {0, connection, record})) {
    Write(record);
    if (denied) Named(connection);  // nobody waits for an ended one
  }
  return denied;
}

// Asks only about connections that are refused or have just begun: once ended, the process may be
// gone.
bool SandboxNetwork::Ask(const Json& record, Asked asked) {
  const auto port = record.find("source_port");
  if (!ask_owner || !may_ask || port == record.end() || !port->is_number_unsigned() ||
      asked_.size() >= kMostAsked || (asked.held && TextOf(record, "decision") != "deny"))
    return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - second_ > std::chrono::seconds(1)) {
    second_ = now;
    asked_in_second_ = 0;
  }
  if (++asked_in_second_ > kMostAskedPerSecond) return false;
  asked.port = port->get<uint16_t>();
  if (!ask_owner(asked.port)) return false;
  asked_.push_back(std::move(asked));
  return true;
}

void SandboxNetwork::NameOwner(uint16_t source_port, int32_t pid, const std::string& process) {
  const auto found = std::ranges::find(asked_, source_port, &Asked::port);
  if (found == asked_.end()) return;
  Asked asked = std::move(*found);
  asked_.erase(found);
  const auto name = [&](Json& record) {
    if (pid == 0) return;
    record[kOwner[0]] = pid;
    record[kOwner[1]] = process;
  };
  if (asked.held) {
    name(*asked.held);
    Write(*asked.held);
  } else if (const auto open = open_.find(asked.connection); open != open_.end()) {
    name(open->second);
  }
  Named(asked.connection);
}

void SandboxNetwork::Flush() {
  for (const Asked& each : std::exchange(asked_, {})) {
    if (each.held) Write(*each.held);
    Named(each.connection);
  }
}

void SandboxNetwork::Write(const Json& record) {
  if (!removed_) log.Append(record);
  std::erase_if(followers_, [](const auto& each) { return each.expired(); });
  for (const auto& each : followers_) {
    const auto follower = each.lock();
    if (follower->lines.size() >= kMostBehind)
      ++follower->missed;
    else
      follower->lines.push_back(LineOf(record));
    follower->moved.Pulse();
  }
}

void SandboxNetwork::CutAll(const std::string& why) {
  Flush();
  const auto cut = std::exchange(open_, {});
  for (const auto& [number, record] : cut) {
    Json ended = record;
    ended["reason"] = why;
    Write(ended);
  }
}

Json SandboxNetwork::Connections() const {
  Json list = Json::array();
  for (const auto& [number, record] : open_) list.push_back(record);
  return list;
}

std::shared_ptr<NetworkFollower> SandboxNetwork::Follow(asio::io_context& io) {
  auto follower = std::make_shared<NetworkFollower>(io);
  followers_.push_back(follower);
  return follower;
}

void SandboxNetwork::End(bool removed) {
  removed_ = removed;
  for (const auto& each : followers_)
    if (const auto follower = each.lock()) {
      follower->over = true;
      follower->moved.Pulse();
    }
}

}  // namespace cloche::daemon
