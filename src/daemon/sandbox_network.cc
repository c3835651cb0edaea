#include "daemon/sandbox_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cloche::daemon {
namespace {

constexpr size_t kMostOpen = 10'000;
constexpr size_t kMostBehind = 1000;
constexpr size_t kMostText = 1024;

// What a record may hold. Anything else cloche-egress says is not kept.
constexpr std::array kTexts = {"time",     "kind", "name",   "address",
                               "decision", "rule", "reason", "certificate_sha256"};
constexpr std::array kNumbers = {"port", "source_port", "bytes_up", "bytes_down", "duration_ms"};

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
  return record;
}

std::string TextOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
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
  if (TextOf(event, "state") == "open") {
    if (known && open_.size() < kMostOpen) open_[number->get<uint64_t>()] = record;
    return false;
  }
  if (known) open_.erase(number->get<uint64_t>());
  Write(record);
  return TextOf(record, "decision") == "deny";
}

void SandboxNetwork::Write(const Json& record) {
  if (!removed_) log.Append(record);
  std::erase_if(followers_, [](const auto& each) { return each.expired(); });
  for (const auto& each : followers_) {
    const auto follower = each.lock();
    if (follower->lines.size() >= kMostBehind)
      ++follower->missed;
    else
      follower->lines.push_back(record.dump(-1, ' ', false, Json::error_handler_t::replace));
    follower->moved.Pulse();
  }
}

void SandboxNetwork::CutAll(const std::string& why) {
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
