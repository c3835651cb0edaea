#include "sign/calls.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "sys/call_list.h"

namespace cloche::sign {

int KeepCallsOfBridge() {
  static constexpr sys::AllowedCall kCalls[] = {
#ifdef SYS_poll
      {SYS_poll},
#endif
      {SYS_ppoll},  {SYS_recvmsg}, {SYS_sendmsg}, {SYS_recvfrom},
      {SYS_sendto}, {SYS_accept4}, {SYS_close},   {SYS_write},  // to standard error
  };
  return sys::AllowOnly(kCalls);
}

int KeepCallsOfDialer() {
  static constexpr sys::AllowedCall kCalls[] = {
      {SYS_recvmsg},         {SYS_sendmsg}, {SYS_socket, 0, ~0u, AF_UNIX},
      {SYS_connect},         {SYS_close},   {SYS_rt_sigreturn},
      {SYS_restart_syscall}, {SYS_exit},    {SYS_exit_group},
  };
  return sys::AllowOnly(kCalls, sys::RunTime::kNone);
}

}  // namespace cloche::sign
