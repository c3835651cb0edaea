#include "egress/calls.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "sys/call_list.h"

namespace cloche::egress {

int GiveUpOtherCalls() {
  static constexpr sys::AllowedCall kCalls[] = {
      // what is done all the time comes first: the list is searched from its front
      {SYS_splice},
      {SYS_recvfrom},
      {SYS_sendto},
      {SYS_epoll_pwait},
#ifdef SYS_epoll_wait
      {SYS_epoll_wait},
#endif
      {SYS_read},
      {SYS_write},
      {SYS_writev},
      {SYS_epoll_ctl},
      {SYS_accept4},
      {SYS_close},
      {SYS_getsockopt},
      {SYS_getsockname},
      {SYS_setsockopt},
      {SYS_shutdown},
      {SYS_connect},
      {SYS_socket, 0, ~0u, AF_INET},
      {SYS_socket, 0, ~0u, AF_INET6},
      {SYS_recvmsg},
      {SYS_sendmsg},
      {SYS_pipe2},
      {SYS_fcntl},
      {SYS_rt_sigprocmask},
      {SYS_getpid},  // OpenSSL: has there been a fork
      {SYS_gettid},
  };
  return sys::AllowOnly(kCalls);
}

}  // namespace cloche::egress
