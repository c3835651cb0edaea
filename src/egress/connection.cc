#include "egress/connection.h"

#include <fmt/core.h>
#include <time.h>

#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr int64_t kUsualIdleMs = 15 * 60 * 1000;

}  // namespace

int64_t WallClockMs() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

Connection::Connection(Services& services_in, std::shared_ptr<Sandbox> sandbox_in,
                       sys::Fd client_fd, uint16_t source_port)
    : services(services_in),
      sandbox(std::move(sandbox_in)),
      client(services.loop, std::move(client_fd)),
      last_activity(services.loop.now()),
      started_(services.loop.now()) {
  record.connection = NextConnectionNumber();
  record.sandbox = sandbox->id;
  record.time_ms = WallClockMs();
  record.source_port = source_port;
  sandbox->live.insert(this);
  if (sandbox->canaries != nullptr) {
    watch = std::make_unique<CanaryWatch>(sandbox->canaries);
    watch->on_held = [this] { (void)Betrayed(); };
    client.LookWith(watch.get());
  }
  sys::SendWithoutDelay(client.socket().fd());
  sys::AskIfAlive(client.socket().fd());
}

Connection::~Connection() {
  sandbox->live.erase(this);
  if (counted_) sandbox->usage.CloseConnection(counted_host_);
  if (watch != nullptr && watch->hit() && !told_canary_) TellCanary();
  if (!told_ && record.port != 0) Tell();
  sandbox->owners.Named(told_as_);
}

// A connection that was reported as refused is reported again, because the decoy is news.
void Connection::TellCanary() {
  told_canary_ = true;
  if (told_) {
    record.connection = NextConnectionNumber();
    record.time_ms = WallClockMs();
  }
  record.canary = watch->hit()->name;
  record.form = watch->hit()->form;
  record.allowed = false;
  const std::string where = !record.name.empty() ? record.name
                            : target.port != 0   ? target.Text()
                                                 : "somewhere";
  record.reason =
      fmt::format("the decoy {} ({}) was on its way to {}", record.canary, record.form, where);
  Tell();
}

bool Connection::Betrayed() {
  if (watch == nullptr || !watch->tripped()) return false;
  if (!watch->hit())
    Deny(watch->trouble());
  else if (!told_canary_)
    TellCanary();
  Cut(record.reason);
  return true;
}

Task<bool> Connection::Betrays(CanaryScanner& message, std::string_view bytes) {
  constexpr size_t kAtOnce = 1 << 10;
  Yield yield{services.loop};
  for (size_t at = 0; at < bytes.size() && !watch->tripped(); at += kAtOnce) {
    watch->See(message, bytes.substr(at, kAtOnce));
    if (services.loop.TurnIsOver()) co_await yield;
  }
  co_return Betrayed();
}

void Connection::Tell() {
  told_ = true;
  record.duration_ms = services.loop.now() - started_;
  Report(record);
}

void Connection::Report(const Record& event, bool open) {
  if (!services.reports.Send(event, open) || (event.allowed && !open)) return;
  sandbox->owners.Told(services.loop, event.connection);
  told_as_ = event.connection;
}

// Once, though a second server connection may follow the first.
void Connection::TellOpen() {
  if (!std::exchange(told_open_, true)) Report(record, true);
}

Task<void> Connection::OwnerKnown() {
  if (!client.socket().cut()) co_await sandbox->owners.Known(told_as_);
}

ConnectionDecision Connection::Admit(const Target& where) {
  if (record.port != 0) {  // a proxy's client continues with another host
    if (!told_) Tell();
    record.connection = NextConnectionNumber();
  }
  told_ = told_open_ = false;
  record.bytes_up = record.bytes_down = record.requests = record.redacted = 0;
  record.address.clear();
  record.reason.clear();
  started_ = services.loop.now();
  target = where;
  Target shown = where;
  if (watch != nullptr) shown.name = WithoutCanary(sandbox->canaries, where.name);
  record.name = shown.name;
  if (where.name.empty()) record.address = FormatIpAddress(where.address);
  record.port = where.port;
  ConnectionDecision decision = DecideConnection(sandbox->rules, where, services.loop.Seconds());
  if (decision.allowed && sandbox->closed) {
    decision.allowed = false;
    decision.reason = "the sandbox is gone";
  }
  if (!decision.allowed) {
    if (decision.rule.empty()) decision.reason = DenialText(shown, sandbox->id);
    Deny(decision.reason, decision.rule);
    return decision;
  }
  const std::string host = where.Host();
  std::string full = sandbox->usage.TakeRequest(sandbox->limits, host, services.loop.now());
  if (full.empty() && (!counted_ || counted_host_ != host)) {
    if (counted_) sandbox->usage.CloseConnection(counted_host_);
    full = sandbox->usage.OpenConnection(sandbox->limits, host);
    counted_ = full.empty();
    counted_host_ = host;
  }
  if (!full.empty()) {
    over_limit_ = true;
    decision.allowed = false;
    decision.reason = fmt::format("{}: {} is over its limit: {}", shown.Text(), sandbox->id, full);
    Deny(decision.reason, decision.rule);
    return decision;
  }
  record.allowed = true;
  record.rule = decision.rule;
  return decision;
}

ConnectionDecision Connection::Decide() const {
  ConnectionDecision decision = DecideConnection(sandbox->rules, target, services.loop.Seconds());
  if (sandbox->secrets.RedactsAt(target))
    decision.reads_requests = decision.must_read_requests = true;
  return decision;
}

bool Connection::StillGranted() const {
  const int64_t now = services.loop.Seconds();
  const ConnectionDecision decision = Decide();
  if (!decision.allowed || sandbox->closed) return false;
  if (served && !decision.kinds.Has(*served)) return false;
  if (opaque && decision.must_read_requests) return false;
  for (const Asked& each : asked) {
    const Request request{each.method, each.path, each.overrides_method, each.overrides_path};
    if (served && !DecideRequest(sandbox->rules, target, *served, request, now).allowed)
      return false;
  }
  if (target.name.empty()) return true;
  const auto address = ParseIpAddress(record.address);
  return !address ||
         DecideAddress(sandbox->rules, target, served.value_or(Kind::kTcp), *address, now).allowed;
}

bool Connection::TakeRequest() {
  const std::string full =
      sandbox->usage.TakeRequest(sandbox->limits, target.Host(), services.loop.now());
  if (full.empty()) return true;
  over_limit_ = true;
  record.reason = fmt::format("{}: {} is over its limit: {}", target.Text(), sandbox->id, full);
  return false;
}

void Connection::Deny(const std::string& reason, const std::string& rule) {
  if (told_) return;
  record.allowed = false;
  // A name that spells a decoy may stand in it.
  const bool spells = watch != nullptr && FindCanary(sandbox->canaries, reason);
  record.reason = spells ? "it spells a decoy" : reason;
  record.rule = rule;
  Tell();
}

void Connection::Cut(const std::string& reason) {
  if (upstream != nullptr) upstream->ResetOnClose();
  Leave(reason);
}

void Connection::Leave(const std::string& reason) {
  if (record.reason.empty()) record.reason = reason;
  client.ResetOnClose();
  client.Cut();
  sandbox->owners.Named(told_as_);
  if (upstream == nullptr) return;
  upstream->GiveUpAfter(kWritePatienceMs);
  upstream->Cut();
}

bool Connection::Count(bool up, uint64_t bytes) {
  last_activity = services.loop.now();
  const std::string full = sandbox->usage.AddBytes(sandbox->limits, target.Host(), up, bytes);
  if (full.empty()) {
    (up ? record.bytes_up : record.bytes_down) += bytes;
    return true;
  }
  Cut(fmt::format("{} is over its limit: {}", sandbox->id, full));
  return false;
}

int64_t Connection::IdleDeadline() const {
  const auto idle = static_cast<int64_t>(sandbox->limits.idle_seconds) * 1000;
  return last_activity + (idle == 0 ? kUsualIdleMs : idle);
}

}  // namespace cloche::egress
