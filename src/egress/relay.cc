#include "egress/relay.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>

#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr size_t kMostIdlePipes = 64;
constexpr size_t kPiece = 512 << 10;
constexpr int kPiecesAtOnce = 8;

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

enum class Moved : uint8_t { kSome, kEnd, kBroken };

// One piece from socket to socket; the pipe is empty before and after, but for kBroken.
Task<Moved> MovePiece(Connection& connection, Channel& from, Channel& to, Pipe& pipe,
                      uint64_t& left) {
  if (from.socket().cut() || to.socket().cut()) co_return Moved::kBroken;
  long got;
  const size_t most = static_cast<size_t>(std::min<uint64_t>(left, kPiece));
  while ((got = sys::MoveBytes(from.socket().fd(), pipe.in.get(), most)) < 0) {
    if (got != -EAGAIN && got != -EINTR) co_return Moved::kBroken;
    if (got == -EINTR) continue;
    connection.services.pipes.Return(std::move(pipe));
    const bool input = co_await AwaitInput(connection, from.socket());
    if (!input) co_return Moved::kBroken;
    pipe = connection.services.pipes.Take();
    if (!pipe.in.valid()) co_return Moved::kBroken;
  }
  if (got == 0) co_return Moved::kEnd;
  if (left != UINT64_MAX) left -= static_cast<uint64_t>(got);
  const auto whole = static_cast<uint64_t>(got);
  while (got > 0) {
    const long put = sys::MoveBytes(pipe.out.get(), to.socket().fd(), static_cast<size_t>(got));
    if (put > 0) {
      got -= put;
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
  co_return connection.Count(&from == &connection.client, whole) ? Moved::kSome : Moved::kBroken;
}

// As MovePiece, where bytes must pass through us.
Task<Moved> CopyPiece(Connection& connection, Channel& from, Channel& to, std::string& buffer,
                      uint64_t& left) {
  // What is looked at may grow a hundredfold while it is unpacked.
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
  const int64_t deadline = connection.Deadline(kWritePatienceMs);
  const long sent = co_await to.Write(std::string_view(buffer).substr(0, size), deadline);
  const bool counted = sent == 0 && connection.Count(&from == &connection.client, size);
  co_return counted ? Moved::kSome : Moved::kBroken;
}

// Without a word of it the other direction goes on; with another word both end.
Task<bool> Greets(Connection& connection, Channel& from, std::string_view greeting) {
  while (from.unread.size() < greeting.size() && greeting.starts_with(from.unread)) {
    const int64_t deadline = connection.Deadline(kHeadPatienceMs);
    const long got = co_await from.Fill(deadline);
    if (got <= 0) co_return false;
  }
  co_return from.unread.starts_with(greeting);
}

// Until the end of `from`, which is passed on. A break ends the other direction too.
Task<void> Pump(Connection& connection, Channel& from, Channel& to, std::string_view greeting) {
  if (!greeting.empty()) {
    const bool greets = co_await Greets(connection, from, greeting);
    if (!greets) {
      const std::string reason = fmt::format("it does not begin with {}", greeting);
      if (!connection.client.socket().cut()) connection.Deny(reason);
      connection.Cut(reason);
      co_return;
    }
  }
  const bool whole = co_await Pass(connection, from, to, UINT64_MAX);
  if (whole) {
    to.EndSending();
  } else {
    connection.Cut(connection.services.loop.now() >= connection.IdleDeadline()
                       ? "nothing was said for too long"
                       : "the connection broke");
  }
}

Task<void> PumpAndSignal(Connection& connection, Channel& from, Channel& to,
                         std::string_view greeting, Signal& done) {
  co_await Pump(connection, from, to, greeting);
  done.Set();
}

}  // namespace

Pipe PipePool::Take() {
  Pipe pipe;
  if (idle_.empty()) {
    if (sys::MakeWidePipe(pipe.out, pipe.in) < 0) return {};
    return pipe;
  }
  pipe = std::move(idle_.back());
  idle_.pop_back();
  return pipe;
}

void PipePool::Return(Pipe pipe) {
  if (pipe.in.valid() && idle_.size() < kMostIdlePipes) idle_.push_back(std::move(pipe));
}

Task<bool> Pass(Connection& connection, Channel& from, Channel& to, uint64_t size) {
  const bool up = &from == &connection.client;
  uint64_t left = size;
  if (!from.unread.empty() && left > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(left, from.unread.size()));
    const std::string_view bytes = std::string_view(from.unread).substr(0, part);
    const int64_t deadline = connection.Deadline(kWritePatienceMs);
    const long sent = co_await to.Write(bytes, deadline);
    if (sent < 0 || !connection.Count(up, part)) co_return false;
    from.unread.erase(0, part);
    if (left != UINT64_MAX) left -= part;
  }
  if (from.unread.empty()) from.unread.shrink_to_fit();
  if (left == 0) co_return true;
  const bool looked_at = up && connection.watch != nullptr;
  const bool copies = from.tls() != nullptr || to.tls() != nullptr || looked_at;
  std::string buffer;
  Pipe pipe;
  if (!copies) pipe = connection.services.pipes.Take();
  if (!copies && !pipe.in.valid()) co_return false;
  Moved moved = Moved::kSome;
  Yield yield{connection.services.loop};
  for (int pieces = 1; left > 0 && moved == Moved::kSome; ++pieces) {
    if (copies) {
      moved = co_await CopyPiece(connection, from, to, buffer, left);
    } else {
      moved = co_await MovePiece(connection, from, to, pipe, left);
    }
    if (pieces % kPiecesAtOnce == 0) co_await yield;
  }
  if (moved != Moved::kBroken) connection.services.pipes.Return(std::move(pipe));
  if (size == UINT64_MAX) co_return moved == Moved::kEnd;
  co_return left == 0 && moved == Moved::kSome;
}

Task<void> Relay(Connection& connection, std::string_view greeting) {
  Signal down(connection.services.loop);
  Start(PumpAndSignal(connection, *connection.upstream, connection.client, greeting, down));
  co_await Pump(connection, connection.client, *connection.upstream, greeting);
  co_await down;
}

}  // namespace cloche::egress
