#include "egress/resolver.h"

#include <errno.h>
#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>

#include "egress/channel.h"
#include "egress/host_name.h"
#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr int64_t kPatienceMs = 2000;
constexpr int kRounds = 2;
constexpr size_t kMostServers = 3, kMostKnown = 4096;
constexpr uint32_t kShortest = 1, kLongest = 300;

// Capitals at random: an answer that was not made from our question does not have them.
std::string InOddCapitals(std::string name) {
  uint32_t coins = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i % 32 == 0) coins = RandomNumber();
    if (name[i] >= 'a' && name[i] <= 'z' && (coins >> (i % 32) & 1) != 0)
      name[i] = static_cast<char>(name[i] - 'a' + 'A');
  }
  return name;
}

}  // namespace

uint32_t RandomNumber() { return arc4random(); }

Task<bool> Resolver::AskOverUdp(const Server& server, Lookup& lookup) {
  sys::Fd fd;
  const sys::Endpoint to{server.first, server.second};
  if (sys::ConnectDatagram(to, fd) < 0) co_return false;
  Socket socket(loop_, std::move(fd));  // a new one has a port nobody can guess
  if (!socket.valid()) co_return false;
  for (int i = 0; i < 2; ++i) {
    if (!lookup.done[i])
      sys::SendBytes(socket.fd(), lookup.question[i].data(), lookup.question[i].size());
  }
  const int64_t deadline = loop_.now() + kPatienceMs;
  char buffer[4096];
  while (!lookup.done[0] || !lookup.done[1]) {
    const long got = sys::ReceiveBytes(socket.fd(), buffer, sizeof buffer);
    if (got == -EAGAIN) {
      const Wake wake = co_await socket.Readable(deadline);
      if (wake != Wake::kReady) co_return false;
      continue;
    }
    if (got < 0) co_return false;  // nobody listens there
    for (int i = 0; i < 2; ++i) {
      const std::string_view message(buffer, static_cast<size_t>(got));
      auto answer = ParseDnsAnswer(message, lookup.question[i]);
      if (lookup.done[i] || !answer) continue;  // not ours: the true one may come yet
      if (answer->truncated) {
        const bool whole = co_await AskOverTcp(server, lookup, i);
        if (!whole) co_return false;
      } else {
        lookup.answer[i] = std::move(*answer);
        lookup.done[i] = true;
      }
    }
  }
  co_return lookup.answer[0].rcode != kDnsServerFailure&& lookup.answer[0].rcode != kDnsRefused;
}

Task<bool> Resolver::AskOverTcp(const Server& server, Lookup& lookup, int which) {
  sys::Fd fd;
  const sys::Endpoint to{server.first, server.second};
  if (sys::StartConnect(to, fd) < 0) co_return false;
  Channel channel(loop_, std::move(fd));
  if (!channel.valid()) co_return false;
  const int64_t deadline = loop_.now() + kPatienceMs;
  const Wake wake = co_await channel.socket().Writable(deadline);
  if (wake != Wake::kReady || sys::ConnectResult(channel.socket().fd()) < 0) co_return false;
  const std::string& question = lookup.question[which];
  std::string framed;
  framed += static_cast<char>(question.size() >> 8);
  framed += static_cast<char>(question.size());
  framed += question;
  const long sent = co_await channel.Write(framed, deadline);
  if (sent < 0) co_return false;
  const std::string& got = channel.unread;
  while (true) {
    const size_t size = got.size() < 2 ? 0
                                       : static_cast<size_t>(static_cast<uint8_t>(got[0])) << 8 |
                                             static_cast<uint8_t>(got[1]);
    if (got.size() >= 2 && got.size() >= 2 + size) {
      auto answer = ParseDnsAnswer(std::string_view(got).substr(2, size), question);
      if (!answer || answer->truncated) co_return false;
      lookup.answer[which] = std::move(*answer);
      lookup.done[which] = true;
      co_return true;
    }
    const long more = co_await channel.Fill(deadline);
    if (more <= 0) co_return false;
  }
}

Task<Result<std::vector<IpAddress>>> Resolver::Resolve(Sandbox& sandbox, const std::string& name) {
  using Addresses = std::vector<IpAddress>;
  Addresses addresses;
  if (name == kHostOfSandbox) {
    addresses.push_back(Ipv4(127, 0, 0, 1));
    addresses.push_back(*ParseIpAddress("::1"));
    co_return addresses;
  }
  for (const auto& [address, host] : settings_.hosts) {
    if (host == name) addresses.push_back(address);
  }
  if (!addresses.empty()) co_return addresses;
  const auto known = sandbox.resolved.find(name);
  if (known != sandbox.resolved.end() && loop_.now() < known->second.until)
    co_return known->second.addresses;

  const std::vector<Server> servers = settings_.nameservers;
  std::string why = "no name server answers";
  if (servers.empty()) why = "this machine has no name server";
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < std::min(servers.size(), kMostServers); ++i) {
      Lookup lookup;
      const std::string odd = InOddCapitals(name);
      const uint32_t ids = RandomNumber();
      lookup.question[0] = MakeDnsQuestion(static_cast<uint16_t>(ids), odd, kDnsA);
      lookup.question[1] = MakeDnsQuestion(static_cast<uint16_t>(ids >> 16), odd, kDnsAaaa);
      const Server& server = servers[i];
      const bool complete = co_await AskOverUdp(server, lookup);
      // A server that does not know AAAA may stay silent; the answer for A is enough then.
      if (!complete && (!lookup.done[0] || lookup.answer[0].addresses.empty())) continue;
      uint32_t ttl = kLongest;
      for (const DnsAnswer& answer : lookup.answer) {
        if (answer.addresses.empty()) continue;
        addresses.insert(addresses.end(), answer.addresses.begin(), answer.addresses.end());
        ttl = std::min(ttl, answer.ttl);
      }
      if (addresses.empty()) {
        co_return Fail(Code::kNotFound, fmt::format("{} has no address", name));
      }
      if (sandbox.resolved.size() >= kMostKnown) sandbox.resolved.clear();
      const int64_t until = loop_.now() + int64_t{1000} * std::max(ttl, kShortest);
      sandbox.resolved[name] = Sandbox::Known{addresses, until};
      co_return addresses;
    }
  }
  co_return Fail(Code::kUnavailable, fmt::format("resolve {}: {}", name, why));
}

}  // namespace cloche::egress
