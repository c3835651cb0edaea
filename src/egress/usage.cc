#include "egress/usage.h"

#include <fmt/core.h>

#include <algorithm>

namespace cloche::egress {
namespace {

constexpr size_t kMostHosts = 4096;

}  // namespace

bool Bucket::Take(uint64_t rate, int64_t now_ms) {
  if (rate == 0) return true;
  const auto most = static_cast<double>(rate);
  if (tokens_ < 0) {
    tokens_ = most;
  } else {
    tokens_ += most * static_cast<double>(now_ms - last_) / 1000;
  }
  tokens_ = std::min(tokens_, most);
  last_ = now_ms;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

// Names below a wildcard are the sandbox's to invent: beyond a number they share one account.
Usage::Sum& Usage::Of(const std::string& host) {
  if (const auto found = hosts_.find(host); found != hosts_.end()) return found->second;
  return hosts_.size() < kMostHosts ? hosts_[host] : hosts_[""];
}

std::string Usage::TakeRequest(const Limits& limits, const std::string& host, int64_t now_ms) {
  if (!all_.requests.Take(limits.requests_per_second, now_ms))
    return fmt::format("more than {} requests a second", limits.requests_per_second);
  if (!Of(host).requests.Take(limits.host_requests_per_second, now_ms))
    return fmt::format("more than {} requests a second to {}", limits.host_requests_per_second,
                       host);
  return "";
}

std::string Usage::OpenConnection(const Limits& limits, const std::string& host) {
  Sum& sum = Of(host);
  if (limits.connections != 0 && all_.connections >= limits.connections)
    return fmt::format("more than {} connections at once", limits.connections);
  if (limits.host_connections != 0 && sum.connections >= limits.host_connections)
    return fmt::format("more than {} connections at once to {}", limits.host_connections, host);
  if (limits.bytes_up != 0 && all_.up >= limits.bytes_up)
    return fmt::format("the {} bytes it may send are used up", limits.bytes_up);
  if (limits.bytes_down != 0 && all_.down >= limits.bytes_down)
    return fmt::format("the {} bytes it may receive are used up", limits.bytes_down);
  ++all_.connections;
  ++sum.connections;
  return "";
}

void Usage::CloseConnection(const std::string& host) {
  --all_.connections;
  --Of(host).connections;
}

std::string Usage::AddBytes(const Limits& limits, const std::string& host, bool up,
                            uint64_t bytes) {
  Sum& sum = Of(host);
  for (Sum* each : {&all_, &sum}) (up ? each->up : each->down) += bytes;
  const uint64_t most = up ? limits.bytes_up : limits.bytes_down;
  const uint64_t most_host = up ? limits.host_bytes_up : limits.host_bytes_down;
  if (most != 0 && (up ? all_.up : all_.down) > most)
    return fmt::format("the {} bytes it may {} are used up", most, up ? "send" : "receive");
  if (most_host != 0 && (up ? sum.up : sum.down) > most_host)
    return fmt::format("the {} bytes it may {} {} are used up", most_host,
                       up ? "send to" : "receive from", host);
  return "";
}

}  // namespace cloche::egress
