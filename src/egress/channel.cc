#include "egress/channel.h"

#include <errno.h>
#include <string.h>

#include "sys/inet.h"
#include "sys/message.h"
#include "sys/stream.h"

namespace cloche::egress {
namespace {

constexpr size_t kPiece = 16 << 10;
// Scanned bytes may grow a thousandfold while they are unpacked.
constexpr size_t kLookedAtOnce = 1 << 10;
constexpr int kMostUnasked = 16;  // pieces between two requests; a new connection costs less

// Shared by all readers: nothing else runs between the read and its use. So waiting connections
// hold no memory.
char shared_piece[kPiece];
char shared_raw[kPiece];

long Failure(Wake wake) { return wake == Wake::kLate ? -ETIMEDOUT : -ECANCELED; }

}  // namespace

Task<long> Channel::ReadRaw(char* data, size_t size, int64_t deadline) {
  Yield yield{socket_.loop()};
  while (!socket_.cut()) {
    long got = -EAGAIN;
    // A connection that always has input must not have the thread alone.
    if (!socket_.drained() && socket_.loop().TurnIsOver()) co_await yield;
    if (socket_.cut()) break;
    if (!socket_.drained()) got = sys::ReceiveBytes(socket_.fd(), data, size);
    if (got == -EINTR) continue;
    if (got > 0 && static_cast<size_t>(got) < size) socket_.Drained();
    if (got != -EAGAIN) co_return got;
    const Wake wake = co_await socket_.Readable(deadline);
    if (wake != Wake::kReady) co_return Failure(wake);
  }
  co_return -ECANCELED;
}

Task<long> Channel::Fill(int64_t deadline) {
  const long got = co_await Read(shared_piece, kPiece, deadline);
  if (got > 0) unread.append(shared_piece, static_cast<size_t>(got));
  co_return got;
}

Task<long> Channel::WriteRaw(std::string_view bytes, int64_t deadline) {
  while (!bytes.empty() && !socket_.cut()) {
    const long sent = sys::SendBytes(socket_.fd(), bytes.data(), bytes.size());
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (sent == -EAGAIN) {
      const Wake wake = co_await socket_.Writable(deadline);
      if (wake != Wake::kReady) co_return Failure(wake);
    } else if (sent != -EINTR) {
      co_return sent;
    }
  }
  co_return socket_.cut() ? -ECANCELED : 0;
}

// Readers do not wait for room to write: bytes that do not fit now go with the next Write.
void Channel::SendPendingNow() {
  if (writing_ || tls_->pending.empty()) return;
  const long sent = sys::SendBytes(socket_.fd(), tls_->pending.data(), tls_->pending.size());
  if (sent > 0) tls_->pending.erase(0, static_cast<size_t>(sent));
}

Task<long> Channel::WritePending(int64_t deadline) {
  writing_ = true;
  long result = 0;
  while (result == 0 && !tls_->pending.empty()) {
    const std::string bytes = std::exchange(tls_->pending, {});
    result = co_await WriteRaw(bytes, deadline);
  }
  writing_ = false;
  co_return result;
}

Task<bool> Channel::Secure(std::unique_ptr<Tls> tls, int64_t deadline) {
  tls_ = std::move(tls);
  tls_->Feed(unread);
  unread.clear();
  std::string raw(kPiece, '\0');
  while (true) {
    const int done = tls_->Handshake();
    const long sent = co_await WritePending(deadline);
    if (done < 0 || sent < 0) co_return false;
    if (done == 1) co_return true;
    const long got = co_await ReadRaw(raw.data(), raw.size(), deadline);
    if (got <= 0) {
      tls_->why = "TLS: the other side went away";
      co_return false;
    }
    tls_->Feed(std::string_view(raw).substr(0, static_cast<size_t>(got)));
  }
}

Task<long> Channel::Read(char* data, size_t size, int64_t deadline) {
  if (tls_ == nullptr) {
    const long got = co_await ReadRaw(data, size, deadline);
    if (looks_ != nullptr && got > 0) co_await Look(data, static_cast<size_t>(got));
    co_return got;
  }
  Yield yield{socket_.loop()};
  while (true) {
    // A piece may hold hundreds of records, and each be a read of its own.
    if (socket_.loop().TurnIsOver()) co_await yield;
    if (socket_.cut()) co_return -ECANCELED;
    const long got = tls_->Read(data, size);
    SendPendingNow();
    if (got != -EAGAIN) {
      if (looks_ != nullptr && got > 0) co_await Look(data, static_cast<size_t>(got));
      co_return got;
    }
    const long more = co_await ReadRaw(shared_raw, kPiece, deadline);
    // An end without close_notify may be a cut by somebody: never the end of a body.
    if (more <= 0) co_return more == 0 ? -EPROTO : more;
    tls_->Feed(std::string_view(shared_raw, static_cast<size_t>(more)));
  }
}

// Works in small pieces, between which other connections may run; they may use the same buffer.
Task<void> Channel::Look(char* data, size_t size) {
  const std::string bytes(data, size);
  Yield yield{socket_.loop()};
  for (size_t at = 0; at < size && !looks_->tripped(); at += kLookedAtOnce) {
    looks_->See(std::string_view(bytes).substr(at, kLookedAtOnce));
    if (socket_.loop().TurnIsOver()) co_await yield;
  }
  memcpy(data, bytes.data(), size);
}

Task<long> Channel::Write(std::string_view bytes, int64_t deadline) {
  if (holds_ != nullptr && holds_->tripped()) {
    holds_->on_held();
    co_return -EPERM;
  }
  if (tls_ == nullptr) {
    const long sent = co_await WriteRaw(bytes, deadline);
    co_return sent;
  }
  if (!tls_->Encrypt(bytes)) co_return -EPROTO;
  const long sent = co_await WritePending(deadline);
  co_return sent;
}

bool Channel::Quiet() {
  if (!unread.empty() || socket_.cut()) return false;
  for (int piece = 0; piece < kMostUnasked; ++piece) {
    char byte = 0;
    if (tls_ != nullptr && tls_->Read(&byte, 1) != -EAGAIN) return false;
    if (tls_ != nullptr) SendPendingNow();
    const long got = sys::ReceiveBytes(socket_.fd(), shared_raw, kPiece);
    if (got == -EAGAIN) return true;
    if (got == -EINTR) continue;
    if (got <= 0 || tls_ == nullptr) return false;
    tls_->Feed(std::string_view(shared_raw, static_cast<size_t>(got)));
  }
  return false;
}

void Channel::EndSending() {
  if (tls_ != nullptr) {
    tls_->Close();
    SendPendingNow();
  }
  sys::EndSending(socket_.fd());
}

void Channel::ResetOnClose() { sys::ResetOnClose(socket_.fd()); }

void Channel::GiveUpAfter(int64_t milliseconds) {
  sys::GiveUpAfter(socket_.fd(), static_cast<unsigned>(milliseconds));
}

}  // namespace cloche::egress
