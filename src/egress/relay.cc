#include "egress/relay.h"

#include <errno.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "egress/relay_buffers.h"
#include "egress/server_certificate.h"
#include "egress/tls.h"
#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr int kPiecesAtOnce = 4;
// A sender of this much without a pause is not worth waking up for each packet.
constexpr uint64_t kFlood = 1 << 20;
constexpr int kMuch = 256 << 10;
constexpr int64_t kPauseMs = 2;

// Waits until `socket` is readable, as long as the connection is not idle as a whole.
Task<bool> AwaitInput(Connection& connection, Socket& socket) {
  while (true) {
    const int64_t deadline = connection.IdleDeadline();
    const Wake wake = co_await socket.Readable(deadline);
    if (wake == Wake::kReady) co_return true;
    if (wake == Wake::kCut) co_return false;
    if (connection.services.loop.now() >= connection.IdleDeadline()) co_return false;
  }
}

// One direction of what need not be looked at.
struct Flow {
  RelayBuffer buffer;
  uint64_t left;         // UINT64_MAX: until the end
  uint64_t flood = 0;    // bytes without a pause
  int64_t last = 0;      // when some of them came
  bool patient = false;  // the socket waits for kMuch
};

void Count(Flow& flow, uint64_t bytes, int64_t now) {
  if (flow.left != UINT64_MAX) flow.left -= bytes;
  flow.flood = now - flow.last <= kPauseMs ? flow.flood + bytes : bytes;
  flow.last = now;
}

void SetPatience(Flow& flow, Socket& socket, bool patient) {
  if (flow.patient == patient) return;
  sys::WakeFor(socket.fd(), patient ? kMuch : 1);
  flow.patient = patient;
}

// In a flood until there is much; less than that after a moment is a pause.
Task<bool> AwaitMore(Connection& connection, Socket& socket, Flow& flow) {
  SetPatience(flow, socket, flow.flood >= kFlood && flow.left >= kMuch);
  if (!flow.patient) {
    const bool input = co_await AwaitInput(connection, socket);
    co_return input;
  }
  const int64_t pause = connection.services.loop.now() + kPauseMs;
  const Wake wake = co_await socket.Readable(pause, Socket::Deadline::kExact);
  if (wake == Wake::kLate) {
    flow.flood = 0;
    SetPatience(flow, socket, false);
  }
  co_return wake != Wake::kCut;
}

enum class Moved : uint8_t { kSome, kEnd, kBroken };

// One piece from socket to socket; the buffer is empty before and after, but for kBroken.
Task<Moved> MovePiece(Connection& connection, Channel& from, Channel& to, Flow& flow) {
  if (from.socket().cut() || to.socket().cut()) co_return Moved::kBroken;
  RelayBuffers& buffers = connection.services.buffers;
  long got = 0;
  while (true) {
    if (const bool flood = flow.flood >= kFlood;
        !flow.buffer.valid() || flow.buffer.large() != flood) {
      buffers.Return(std::move(flow.buffer));
      flow.buffer = buffers.Take(flood);
    }
    if (!flow.buffer.valid()) co_return Moved::kBroken;
    got = flow.buffer.Fill(from.socket().fd(), flow.left);
    if (got >= 0) break;
    if (got != -EAGAIN && got != -EINTR) co_return Moved::kBroken;
    if (got == -EINTR) continue;
    buffers.Return(std::move(flow.buffer));
    const bool input = co_await AwaitMore(connection, from.socket(), flow);
    if (!input) co_return Moved::kBroken;
  }
  if (got == 0) co_return Moved::kEnd;
  const auto whole = static_cast<uint64_t>(got);
  Count(flow, whole, connection.services.loop.now());
  if (!connection.Count(&from == &connection.client, whole)) co_return Moved::kBroken;
  for (uint64_t done = 0; done < whole;) {
    const long put = flow.buffer.Empty(to.socket().fd(), done, whole - done);
    if (put > 0) {
      done += static_cast<uint64_t>(put);
      connection.last_activity = connection.services.loop.now();
    } else if (put == -EAGAIN) {
      const int64_t deadline = connection.IdleDeadline();
      const Wake wake = co_await to.socket().Writable(deadline);
      if (wake == Wake::kCut) co_return Moved::kBroken;
      if (wake == Wake::kLate && connection.services.loop.now() >= connection.IdleDeadline())
        co_return Moved::kBroken;
    } else if (put != -EINTR) {
      co_return Moved::kBroken;
    }
  }
  co_return Moved::kSome;
}

// As MovePiece, where bytes must pass through us.
Task<Moved> CopyPiece(Connection& connection, Channel& from, Channel& to, std::string& buffer,
                      uint64_t& left) {
  // Scanned bytes may grow a hundredfold while they are unpacked.
  const bool looked_at = connection.watch != nullptr && &from == &connection.client;
  buffer.resize(static_cast<size_t>(std::min<uint64_t>(left, looked_at ? 16 << 10 : 64 << 10)));
  long got;
  do {
    const int64_t deadline = connection.IdleDeadline();
    got = co_await from.Read(buffer.data(), buffer.size(), deadline);
  } while (got == -ETIMEDOUT && connection.services.loop.now() < connection.IdleDeadline());
  if (got <= 0) co_return got == 0 ? Moved::kEnd : Moved::kBroken;
  const auto size = static_cast<size_t>(got);
  if (left != UINT64_MAX) left -= size;
  if (!connection.Count(&from == &connection.client, size)) co_return Moved::kBroken;
  const int64_t deadline = connection.Deadline(kWritePatienceMs);
  const long sent = co_await to.Write(std::string_view(buffer).substr(0, size), deadline);
  co_return sent == 0 ? Moved::kSome : Moved::kBroken;
}

// Waits for the greeting, while the other direction runs. False: something else came, or nothing.
Task<bool> Greets(Connection& connection, Channel& from, std::string_view greeting) {
  while (from.unread.size() < greeting.size() && greeting.starts_with(from.unread)) {
    const int64_t deadline = connection.Deadline(kHeadPatienceMs);
    const long got = co_await from.Fill(deadline);
    if (got <= 0) co_return false;
  }
  co_return from.unread.starts_with(greeting);
}

// Ends a connection that does not speak the protocol it was granted for.
void CutAsRefused(Connection& connection, const std::string& reason) {
  if (!connection.client.socket().cut()) connection.Deny(reason);
  connection.Cut(reason);
}

// More of `from`, into its `unread`.
Task<long> FillIdle(Connection& connection, Channel& from) {
  long got;
  do {
    const int64_t idle = connection.IdleDeadline();
    got = co_await from.Fill(idle);
  } while (got == -ETIMEDOUT && connection.services.loop.now() < connection.IdleDeadline());
  co_return got;
}

// The first words of a server are read as they pass; after its hello and its certificate they are
// not.
Task<bool> PassAnswer(Connection& connection, TlsHandshake& handshake) {
  Channel& server = *connection.upstream;
  ServerCertificate certificate;
  while (certificate.state() == ServerCertificate::State::kMore || !handshake.answered()) {
    const long got = co_await FillIdle(connection, server);
    if (got <= 0) co_return got == 0;
    certificate.Feed(server.unread);
    handshake.FromServer(server.unread);
    if (!connection.Count(false, server.unread.size())) co_return false;
    const int64_t deadline = connection.Deadline(kWritePatienceMs);
    const long sent = co_await connection.client.Write(server.unread, deadline);
    if (sent < 0) co_return false;
    server.unread.clear();
  }
  if (certificate.state() == ServerCertificate::State::kFound)
    connection.record.certificate_sha256 = Sha256Hex(certificate.der());
  co_return true;
}

enum class Hellos : uint8_t { kOver, kEnd, kBroken };

// Passes on what the program sends for as long as it could send another hello.
Task<Hellos> PassHellos(Connection& connection, TlsHandshake& handshake) {
  Channel& client = connection.client;
  while (true) {
    std::string passes;
    const std::string why_not = handshake.FromClient(client.unread, passes);
    client.unread.clear();
    if (!why_not.empty()) {
      CutAsRefused(connection, fmt::format("{}: {}", connection.target.Text(), why_not));
      co_return Hellos::kBroken;
    }
    if (!passes.empty()) {
      if (!connection.Count(true, passes.size())) co_return Hellos::kBroken;
      const int64_t deadline = connection.Deadline(kWritePatienceMs);
      const long sent = co_await connection.upstream->Write(passes, deadline);
      if (sent < 0) co_return Hellos::kBroken;
      if (handshake.over()) continue;  // it may hold something back that may go now
    }
    if (handshake.over()) co_return Hellos::kOver;
    const long got = co_await FillIdle(connection, client);
    if (got <= 0) co_return got == 0 ? Hellos::kEnd : Hellos::kBroken;
  }
}

// Until the end of `from`, which is passed on. A break ends the other direction too.
Task<void> Pump(Connection& connection, Channel& from, Channel& to, std::string_view greeting,
                TlsHandshake* handshake) {
  if (!greeting.empty()) {
    const bool greets = co_await Greets(connection, from, greeting);
    if (!greets) {
      CutAsRefused(connection, fmt::format("it does not begin with {}", greeting));
      co_return;
    }
  }
  bool whole = true, ended = false;
  if (handshake != nullptr && &from == &connection.client) {
    const Hellos hellos = co_await PassHellos(connection, *handshake);
    whole = hellos != Hellos::kBroken;
    ended = hellos == Hellos::kEnd;
  } else if (handshake != nullptr) {
    whole = co_await PassAnswer(connection, *handshake);
  }
  if (whole && !ended) whole = co_await Pass(connection, from, to, UINT64_MAX);
  if (whole) {
    to.EndSending();
  } else {
    connection.Cut(connection.services.loop.now() >= connection.IdleDeadline()
                       ? "nothing was said for too long"
                       : "the connection broke");
  }
}

Task<void> PumpAndSignal(Connection& connection, Channel& from, Channel& to,
                         std::string_view greeting, TlsHandshake* handshake, Signal& done) {
  co_await Pump(connection, from, to, greeting, handshake);
  done.Set();
}

}  // namespace

Task<bool> Pass(Connection& connection, Channel& from, Channel& to, uint64_t size) {
  const bool up = &from == &connection.client;
  uint64_t left = size;
  if (!from.unread.empty() && left > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(left, from.unread.size()));
    const std::string_view bytes = std::string_view(from.unread).substr(0, part);
    if (!connection.Count(up, part)) co_return false;
    const int64_t deadline = connection.Deadline(kWritePatienceMs);
    const long sent = co_await to.Write(bytes, deadline);
    if (sent < 0) co_return false;
    from.unread.erase(0, part);
    if (left != UINT64_MAX) left -= part;
  }
  if (from.unread.empty()) from.unread.shrink_to_fit();
  if (left == 0) co_return true;
  const bool looked_at = up && connection.watch != nullptr;
  const bool copies = from.tls() != nullptr || to.tls() != nullptr || looked_at;
  std::string buffer;
  Flow flow{.buffer = {}, .left = left};
  Moved moved = Moved::kSome;
  Yield yield{connection.services.loop};
  for (int pieces = 1; flow.left > 0 && moved == Moved::kSome; ++pieces) {
    if (copies) {
      moved = co_await CopyPiece(connection, from, to, buffer, flow.left);
    } else {
      moved = co_await MovePiece(connection, from, to, flow);
    }
    if (pieces % kPiecesAtOnce == 0) co_await yield;
  }
  SetPatience(flow, from.socket(), false);
  if (moved != Moved::kBroken) connection.services.buffers.Return(std::move(flow.buffer));
  if (size == UINT64_MAX) co_return moved == Moved::kEnd;
  co_return flow.left == 0 && moved == Moved::kSome;
}

namespace {

Task<void> RelayBoth(Connection& connection, std::string_view greeting, TlsHandshake* handshake) {
  Signal down(connection.services.loop);
  Start(PumpAndSignal(connection, *connection.upstream, connection.client, greeting, handshake,
                      down));
  co_await Pump(connection, connection.client, *connection.upstream, greeting, handshake);
  co_await down;
}

}  // namespace

Task<void> Relay(Connection& connection, std::string_view greeting) {
  co_await RelayBoth(connection, greeting, nullptr);
}

Task<void> RelayTls(Connection& connection, TlsHandshake::Judge judge) {
  const std::string_view none;
  TlsHandshake handshake(std::move(judge));
  co_await RelayBoth(connection, none, &handshake);
}

}  // namespace cloche::egress
