#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/ip_address.h"
#include "sys/fd.h"

namespace cloche::sys {

struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

// All sockets made here are non-blocking and close-on-exec. Failures return -errno.
int AcceptConnection(int listener, Fd& connection, Endpoint& from);
// Where a connection was headed before an nft rule redirected it to us.
int OriginalDestination(int connection, bool six, Endpoint& destination);
int LocalEnd(int socket, Endpoint& end);
int StartConnect(const Endpoint& to, Fd& socket);  // 0: in progress; writable once decided
int ConnectResult(int socket);                     // after it was writable
int ConnectDatagram(const Endpoint& to, Fd& socket);

long ReceiveBytes(int socket, void* data, size_t size);  // bytes, 0 at the end
long SendBytes(int socket, const void* data, size_t size);

// The destination of an answer, as the kernel named it.
struct Sender {
  alignas(8) char name[128];
  uint32_t size = 0;
  uint16_t Port() const;
};
long ReceiveDatagram(int socket, void* data, size_t size, Sender& from);
long SendDatagram(int socket, const void* data, size_t size, const Sender& to);

int MakeWidePipe(Fd& read_end, Fd& write_end);  // non-blocking, as large as allowed
long MoveBytes(int from, int to, size_t most);  // splice: one of them is a pipe
// How many bytes wake a reader; the end always does.
void WakeFor(int socket, int bytes);

// Drops data that was sent but not acknowledged for this long, even after the socket is closed.
void GiveUpAfter(int socket, unsigned milliseconds);
void ResetOnClose(int socket);      // tells the other side at once, whatever is in flight
void SendWithoutDelay(int socket);  // does not hold back small pieces
// Makes the kernel ask whether the other side is still there after a silence. A peer that only
// ended its sending answers; if it was closed, its kernel forgets it after tcp_fin_timeout (a
// minute) and answers with a reset.
void AskIfAlive(int socket);

}  // namespace cloche::sys
