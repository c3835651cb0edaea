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

// All sockets made here are non-blocking and close-on-exec. Results are -errno where they fail.
int AcceptConnection(int listener, Fd& connection, Endpoint& from);
// Where a connection wanted to go before a rule of nft redirected it to us.
int OriginalDestination(int connection, bool six, Endpoint& destination);
int LocalEnd(int socket, Endpoint& end);
int StartConnect(const Endpoint& to, Fd& socket);  // 0: is under way; it is writable when decided
int ConnectResult(int socket);                     // after it was writable
int ConnectDatagram(const Endpoint& to, Fd& socket);

long ReceiveBytes(int socket, void* data, size_t size);  // bytes, 0 at the end
long SendBytes(int socket, const void* data, size_t size);

// Whom an answer goes to, as the kernel named him.
struct Sender {
  alignas(8) char name[128];
  uint32_t size = 0;
  uint16_t Port() const;
};
long ReceiveDatagram(int socket, void* data, size_t size, Sender& from);
long SendDatagram(int socket, const void* data, size_t size, const Sender& to);

int MakeWidePipe(Fd& read_end, Fd& write_end);  // non-blocking, as large as we may
long MoveBytes(int from, int to, size_t most);  // splice: one of them is a pipe
// How much must have come for a reader to be woken; the end of it always does.
void WakeFor(int socket, int bytes);

// What was sent and is not taken for so long is dropped, after the end of the socket, too.
void GiveUpAfter(int socket, unsigned milliseconds);
void ResetOnClose(int socket);      // the other side is told at once, whatever was under way
void SendWithoutDelay(int socket);  // small pieces are not held back
// Whether the other side is still there is asked by the kernel when nothing was heard for a while.
// One that ended its sending and lives says so; one that was closed is forgotten by its own kernel
// after tcp_fin_timeout, a minute, and then the answer is a reset.
void AskIfAlive(int socket);

}  // namespace cloche::sys
