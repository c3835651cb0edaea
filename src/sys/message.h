#pragma once

#include <cstddef>
#include <span>

#include "sys/fd.h"

namespace cloche::sys {

inline constexpr int kMaxMessageFds = 200;

// One SOCK_SEQPACKET message with descriptors. Allocation-free: also used between clone and exec.
// Returns bytes sent or -errno. Never raises SIGPIPE.
long SendMessage(int socket, const void* data, size_t size, std::span<const int> fds = {});

// Returns bytes received, 0 at end of file, or -errno. Received fds are close-on-exec; `fd_count`
// is how many of `fds` were filled (a message with more than fds.size() is refused with -EMSGSIZE
// and its fds are closed). A message longer than `size` is refused likewise.
long ReceiveMessage(int socket, void* data, size_t size, std::span<int> fds, int& fd_count,
                    bool dont_wait = false);

int MakeSocketPair(Fd& ours, Fd& theirs);  // SOCK_SEQPACKET, close-on-exec

}  // namespace cloche::sys
