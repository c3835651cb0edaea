#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "egress/canary_scanner.h"
#include "egress/loop.h"
#include "egress/task.h"
#include "egress/tls.h"

namespace cloche::egress {

// One end of a connection: bytes in, bytes out, and what was read but not used yet. Results are
// bytes or -errno; -ETIMEDOUT after the deadline, -ECANCELED when it was cut.
class Channel {
 public:
  Channel(Loop& loop, sys::Fd fd) : socket_(loop, std::move(fd)) {}

  Socket& socket() { return socket_; }
  bool valid() const { return socket_.valid(); }

  std::string unread;

  // Adds at least a byte to `unread`; 0 at the end.
  Task<long> Fill(int64_t deadline);
  Task<long> Read(char* data, size_t size, int64_t deadline);  // not from `unread`
  Task<long> Write(std::string_view bytes, int64_t deadline);  // all of them: 0
  // From here on bytes are TLS; what is in `unread` was not. False: tls()->why says why.
  Task<bool> Secure(std::unique_ptr<Tls> tls, int64_t deadline);
  Tls* tls() const { return tls_.get(); }
  // Everything read here is scanned by `watch`.
  void LookWith(CanaryWatch* watch) { looks_ = watch; }
  // Once `watch` has found something, Write refuses with -EPERM and reports it.
  void HoldFor(CanaryWatch* watch) { holds_ = watch; }
  // True if no unsolicited bytes and no end have come, so that the next bytes are an answer.
  bool Quiet();
  void EndSending();
  void Cut() { socket_.Cut(); }
  void ResetOnClose();
  void GiveUpAfter(int64_t milliseconds);  // on what it was sent and does not take

 private:
  Task<void> Look(char* data, size_t size);
  Task<long> ReadRaw(char* data, size_t size, int64_t deadline);
  Task<long> WriteRaw(std::string_view bytes, int64_t deadline);
  Task<long> WritePending(int64_t deadline);
  void SendPendingNow();

  Socket socket_;
  std::unique_ptr<Tls> tls_;
  CanaryWatch *looks_ = nullptr, *holds_ = nullptr;
  bool writing_ = false;
};

}  // namespace cloche::egress
