#include "egress/channel.h"

#include <errno.h>

#include "sys/inet.h"
#include "sys/message.h"

namespace cloche::egress {
namespace {

constexpr size_t kPiece = 16 << 10;

long Failure(Wake wake) { return wake == Wake::kLate ? -ETIMEDOUT : -ECANCELED; }

}  // namespace

Task<long> Channel::Read(char* data, size_t size, int64_t deadline) {
  while (!socket_.cut()) {
    const long got = sys::ReceiveBytes(socket_.fd(), data, size);
    if (got == -EINTR) continue;
    if (got != -EAGAIN) co_return got;
    const Wake wake = co_await socket_.Readable(deadline);
    if (wake != Wake::kReady) co_return Failure(wake);
  }
  co_return -ECANCELED;
}

Task<long> Channel::Fill(int64_t deadline) {
  const size_t before = unread.size();
  unread.resize(before + kPiece);
  const long got = co_await Read(unread.data() + before, kPiece, deadline);
  unread.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
  co_return got;
}

Task<long> Channel::Write(std::string_view bytes, int64_t deadline) {
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

void Channel::EndSending() { sys::EndSending(socket_.fd()); }
void Channel::ResetOnClose() { sys::ResetOnClose(socket_.fd()); }

}  // namespace cloche::egress
