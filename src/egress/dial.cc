#include "egress/dial.h"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>

#include "sys/inet.h"

namespace cloche::egress {
namespace {

Task<int> ConnectTo(Connection& connection, const IpAddress& address) {
  sys::Fd fd;
  const sys::Endpoint to{address, connection.target.port};
  if (const int error = sys::StartConnect(to, fd); error < 0) co_return error;
  sys::SendWithoutDelay(fd.get());
  auto channel = std::make_unique<Channel>(connection.services.loop, std::move(fd));
  if (!channel->valid()) co_return -EMFILE;
  channel->HoldFor(connection.watch.get());
  connection.upstream = std::move(channel);  // so that it can be cut
  const int64_t deadline = connection.Deadline(kConnectPatienceMs);
  const Wake wake = co_await connection.upstream->socket().Writable(deadline);
  int error = wake == Wake::kLate ? -ETIMEDOUT : wake == Wake::kCut ? -ECANCELED : 0;
  if (error == 0) error = sys::ConnectResult(connection.upstream->socket().fd());
  if (error < 0) connection.upstream.reset();
  co_return error;
}

}  // namespace

Task<Status> Dial(Connection& connection) {
  const Target target = connection.target;
  // Not even its name is looked up.
  if (connection.Betrayed()) co_return Fail(Code::kDenied, connection.record.reason);
  std::vector<IpAddress> addresses;
  if (target.name.empty()) {
    addresses.push_back(target.address);
  } else {
    Result<std::vector<IpAddress>> resolved =
        co_await connection.services.resolver.Resolve(*connection.sandbox, target.name);
    if (!resolved) co_return std::unexpected(resolved.error());
    addresses = std::move(*resolved);
  }
  std::string refused, failed;
  for (const IpAddress& address : addresses) {
    // The rules may have changed while we waited for the name, and we with them.
    if (connection.client.socket().cut() || !connection.StillGranted())
      co_return Fail(Code::kDenied, connection.record.reason.empty() ? "it is not granted any more"
                                                                     : connection.record.reason);
    if (!target.name.empty()) {
      const Kind kind = connection.served.value_or(Kind::kTcp);
      const Decision decision = DecideAddress(connection.sandbox->rules, target, kind, address,
                                              connection.services.loop.Seconds());
      if (!decision.allowed) {
        refused = decision.reason;
        if (decision.rule.empty())
          refused += AddressGrantText(target, kind, address, connection.sandbox->id);
        continue;
      }
    }
    connection.record.address = FormatIpAddress(address);
    connection.TellOpen();
    const int error = co_await ConnectTo(connection, address);
    if (error == 0) {
      co_await connection.OwnerKnown();
      if (connection.client.socket().cut()) co_return Fail(Code::kDenied, connection.record.reason);
      co_return Status();
    }
    failed = fmt::format("connect {}: {}", FormatEndpoint(address, target.port), strerror(-error));
    if (error == -ECANCELED) break;
  }
  if (failed.empty()) co_return Fail(Code::kDenied, refused);
  co_return Fail(Code::kUnavailable, failed);
}

Task<Status> SecureUpstream(Connection& connection, bool two) {
  const Target& target = connection.target;
  const int64_t deadline = connection.Deadline(kConnectPatienceMs);
  std::unique_ptr<Tls> tls =
      connection.services.trust.ConnectTo(target.Host(), target.name.empty(), two);
  bool secure = false;
  if (tls != nullptr) secure = co_await connection.upstream->Secure(std::move(tls), deadline);
  if (secure) {
    connection.record.certificate_sha256 = connection.upstream->tls()->PeerSha256();
    co_return Status();
  }
  Tls* failed = connection.upstream->tls();
  co_return Fail(
      Code::kUnavailable,
      fmt::format("{}: {}", target.Text(), failed == nullptr ? "out of memory" : failed->why));
}

}  // namespace cloche::egress
