#include "change/apply/calls.h"

#include <linux/fs.h>
#include <sys/syscall.h>

#include "sys/call_list.h"
#include "sys/kernel_abi.h"

namespace cloche::apply {

int GiveUpOtherCalls() {
  static constexpr sys::AllowedCall kCalls[] = {
      // per-file calls come first: the filter searches the list from the front
      {SYS_openat},
      {SYS_close},
      {SYS_newfstatat},
      {SYS_fstat},
      {SYS_read},
      {SYS_write},
      {SYS_pread64},
      {SYS_pwrite64},
      {SYS_openat2},
      {SYS_statx},
      {SYS_getdents64},
      {SYS_renameat2},
      {SYS_mkdirat},
      {SYS_linkat},
      {SYS_symlinkat},
      {SYS_unlinkat},
      {SYS_readlinkat},
      {SYS_faccessat},
      {SYS_faccessat2},
      {SYS_fchmod},
      {SYS_fchmodat},
      {SYS_fchown},
      {SYS_fchownat},
      {SYS_utimensat},
      {SYS_fgetxattr},
      {SYS_lgetxattr},
      {SYS_flistxattr},
      {SYS_llistxattr},
      {sys::kListxattrat},
      {SYS_fsetxattr},
      {SYS_fremovexattr},
      {SYS_lseek},
      {SYS_ftruncate},
      {SYS_fallocate},
      {SYS_copy_file_range},
      {SYS_sendfile},
      {SYS_fadvise64},
      {SYS_ioctl, 1, ~0u, FICLONE},
      {SYS_ioctl, 1, ~0u, FS_IOC_GETFLAGS},
      {SYS_fsync},
      {SYS_fdatasync},
      {SYS_syncfs},
      {SYS_flock},
      {SYS_clock_nanosleep},
      {SYS_fcntl},
      {SYS_fstatfs},
      {SYS_wait4},  // for cloche-git
      {SYS_gettimeofday},
      {SYS_geteuid},
      {SYS_getegid},
      {SYS_getpid},
      {SYS_gettid},
      {SYS_rt_sigprocmask},
#ifdef __x86_64__
      // glibc uses older names for some of them on this architecture
      {SYS_open},
      {SYS_readlink},
      {SYS_access},
      {SYS_chmod},
      {SYS_stat},
      {SYS_lstat},
      {SYS_time},
#endif
  };
  return sys::AllowOnly(kCalls);
}

}  // namespace cloche::apply
