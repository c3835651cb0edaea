#include "egress/dns_server.h"

#include <errno.h>
#include <fmt/core.h>

#include "egress/canary_scanner.h"
#include "egress/dns_message.h"
#include "egress/host_name.h"
#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr uint32_t kTtl = 60;  // any: the address of a name never changes
constexpr int64_t kToldMs = 2000;
constexpr int kAtOnce = 64;

// Returns the number of the event, by which its owner is awaited; 0: there is none to wait for.
uint64_t Report(Services& services, Sandbox& sandbox, const Record& record) {
  if (!services.reports.Send(record)) return 0;
  sandbox.owners.Told(services.loop, record.connection);
  return record.connection;
}

// The host of a service: _http._tcp.mirror.example belongs to mirror.example, and is reached there.
// Empty: not the name of a service.
struct Service {
  std::string host;
  std::string rule;  // that would grant it
};
Service ServiceOf(std::string_view shown) {
  std::string_view host = shown;
  while (host.starts_with('_') && host.find('.') != host.npos)
    host.remove_prefix(host.find('.') + 1);
  const auto name = NormaliseHost(host);
  if (host.size() == shown.size() || !name) return {};
  return {*name, (shown.starts_with("_http.") ? "http://" : "") + *name};
}

uint64_t TellDenied(Services& services, Sandbox& sandbox, const DnsQuery& query,
                    const Service& service, uint16_t source_port) {
  const std::string& name = !service.host.empty() ? service.host
                            : query.name.empty()  ? query.shown
                                                  : query.name;
  const int64_t now = services.loop.now();
  if (name == sandbox.last_denied_name && now - sandbox.last_denied_at < kToldMs) return 0;
  sandbox.last_denied_name = name;
  sandbox.last_denied_at = now;
  Record record;
  record.connection = NextConnectionNumber();
  record.sandbox = sandbox.id;
  record.time_ms = WallClockMs();
  record.kind = "dns";
  record.name = name;
  record.port = 53;
  record.source_port = source_port;
  record.reason =
      service.host.empty() && query.name.empty()
          ? "not a valid host name"
          : fmt::format("{0} is not granted to {1}; grant it with: cloche net {1} allow {2}", name,
                        sandbox.id, service.host.empty() ? name + ":443" : service.rule);
  return Report(services, sandbox, record);
}

// A name that spells a decoy has leaked as soon as a server is asked for it.
bool TellCanary(Services& services, Sandbox& sandbox, const DnsQuery& query, uint16_t source_port,
                uint64_t& told) {
  if (sandbox.canaries == nullptr) return false;
  const auto hit = FindCanary(sandbox.canaries, query.shown);
  if (!hit) return false;
  Record record;
  record.connection = NextConnectionNumber();
  record.sandbox = sandbox.id;
  record.time_ms = WallClockMs();
  record.kind = "dns";
  record.name = WithoutCanary(sandbox.canaries, query.shown);
  record.port = 53;
  record.source_port = source_port;
  record.canary = hit->name;
  record.form = hit->form;
  record.reason = fmt::format("the decoy {} ({}) was in a name that was asked for: {}", hit->name,
                              hit->form, record.name);
  told = Report(services, sandbox, record);
  return true;
}

}  // namespace

std::string AnswerDns(Services& services, Sandbox& sandbox, std::string_view message,
                      uint16_t source_port, uint64_t& told) {
  told = 0;
  const auto query = ParseDnsQuery(message);
  if (!query) return "";
  if (TellCanary(services, sandbox, *query, source_port, told))
    return MakeDnsAnswer(*query, kDnsNoSuchName, {}, 0);
  if (query->refuse_with != 0) return MakeDnsAnswer(*query, query->refuse_with, {}, 0);
  if (query->name.empty() || !NameIsGranted(sandbox.rules, query->name, services.loop.Seconds())) {
    const Service service = ServiceOf(query->shown);
    // For a granted host there is nothing to report: programs continue with the host itself.
    if (service.host.empty() ||
        !NameIsGranted(sandbox.rules, service.host, services.loop.Seconds()))
      told = TellDenied(services, sandbox, *query, service, source_port);
    return MakeDnsAnswer(*query, kDnsNoSuchName, {}, 0);
  }
  const bool six = query->type == kDnsAaaa;
  std::vector<IpAddress> addresses;
  // Other types have no content: no HTTPS records, so no ECH and no other ports.
  if (query->type == kDnsA || (six && sandbox.has_six)) {
    const auto address = sandbox.names.AddressOf(query->name, six);
    if (!address) return MakeDnsAnswer(*query, kDnsRefused, {}, 0);
    addresses.push_back(*address);
  }
  return MakeDnsAnswer(*query, kDnsNoError, addresses, kTtl);
}

namespace {

// The program may end as soon as it has its answer, so the answer waits until its owner is known.
Task<void> SendWhenKnown(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<Socket> socket,
                         sys::Sender to, std::string answer, uint64_t told) {
  co_await sandbox->owners.Known(told);
  sys::SendDatagram(socket->fd(), answer.data(), answer.size(), to);
}

}  // namespace

Task<void> ServeDatagrams(Services& services, std::shared_ptr<Sandbox> sandbox,
                          std::shared_ptr<Socket> socket) {
  char buffer[4096];
  Yield yield{services.loop};
  for (int served = 1; !socket->cut(); ++served) {
    sys::Sender from;
    const long got = sys::ReceiveDatagram(socket->fd(), buffer, sizeof buffer, from);
    if (got == -EAGAIN) {
      const Wake wake = co_await socket->Readable(INT64_MAX);
      if (wake == Wake::kCut) co_return;
      continue;
    }
    if (got < 0) continue;  // told about an earlier answer that nobody took
    const std::string_view message(buffer, static_cast<size_t>(got));
    uint64_t told = 0;
    std::string answer = AnswerDns(services, *sandbox, message, from.Port(), told);
    if (!answer.empty() && told == 0)
      sys::SendDatagram(socket->fd(), answer.data(), answer.size(), from);
    else if (!answer.empty())
      Start(SendWhenKnown(sandbox, socket, from, std::move(answer), told));
    if (served % kAtOnce == 0) co_await yield;
  }
}

Task<void> ServeDnsStream(Connection& connection) {
  Channel& client = connection.client;
  std::string& got = client.unread;
  Yield yield{connection.services.loop};
  for (int turns = 1;; ++turns) {
    if (turns % kAtOnce == 0) co_await yield;
    const size_t size = got.size() < 2 ? 0
                                       : static_cast<size_t>(static_cast<uint8_t>(got[0])) << 8 |
                                             static_cast<uint8_t>(got[1]);
    const int64_t deadline = connection.Deadline(kHeadPatienceMs);
    if (got.size() < 2 || got.size() < 2 + size) {
      const long more = co_await client.Fill(deadline);
      if (more <= 0) co_return;
      continue;
    }
    uint64_t told = 0;
    const std::string answer =
        AnswerDns(connection.services, *connection.sandbox, std::string_view(got).substr(2, size),
                  connection.record.source_port, told);
    got.erase(0, 2 + size);
    if (answer.empty()) co_return;
    std::string framed;
    framed += static_cast<char>(answer.size() >> 8);
    framed += static_cast<char>(answer.size());
    framed += answer;
    co_await connection.sandbox->owners.Known(told);
    const long sent = co_await client.Write(framed, deadline);
    if (sent < 0) co_return;
  }
}

}  // namespace cloche::egress
