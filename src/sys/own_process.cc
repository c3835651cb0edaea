#include "sys/own_process.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>

#include "sys/message.h"
#include "sys/process.h"

namespace cloche::sys {
namespace {

bool HoldsNothing() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return syscall(SYS_capget, &header, data) == 0 && (data[0].permitted | data[1].permitted) == 0;
}

}  // namespace

int StartWithSocket(const char* program, const char* argument, pid_t& child) {
  Fd ours, theirs;
  if (int error = MakeSocketPair(ours, theirs); error < 0) return error;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  const char* arguments[] = {program, argument, "3", nullptr};
  const char* environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", nullptr};
  int error = posix_spawn(&child, program, &actions, nullptr, const_cast<char**>(arguments),
                          const_cast<char**>(environment));
  posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? -error : ours.Release();
}

int BecomeUser(uid_t uid, gid_t gid) {
  if (setgroups(0, nullptr) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
    return -errno;
  if (int error = SetNoNewPrivileges(); error < 0) return error;
  if (getuid() != uid || geteuid() != uid || getgid() != gid) return -EPERM;
  return HoldsNothing() ? 0 : -EPERM;
}

int AdoptOrphans() { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0; }

int ForbidCoreDumps() {
  const rlimit none{};
  return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : SetDumpable(false);
}

const char* CapabilityName(int capability) {
  static constexpr const char* kNames[] = {"chown",
                                           "dac_override",
                                           "dac_read_search",
                                           "fowner",
                                           "fsetid",
                                           "kill",
                                           "setgid",
                                           "setuid",
                                           "setpcap",
                                           "linux_immutable",
                                           "net_bind_service",
                                           "net_broadcast",
                                           "net_admin",
                                           "net_raw",
                                           "ipc_lock",
                                           "ipc_owner",
                                           "sys_module",
                                           "sys_rawio",
                                           "sys_chroot",
                                           "sys_ptrace",
                                           "sys_pacct",
                                           "sys_admin",
                                           "sys_boot",
                                           "sys_nice",
                                           "sys_resource",
                                           "sys_time",
                                           "sys_tty_config",
                                           "mknod",
                                           "lease",
                                           "audit_write",
                                           "audit_control",
                                           "setfcap",
                                           "mac_override",
                                           "mac_admin",
                                           "syslog",
                                           "wake_alarm",
                                           "block_suspend",
                                           "audit_read",
                                           "perfmon",
                                           "bpf",
                                           "checkpoint_restore"};
  if (capability < 0 || static_cast<size_t>(capability) >= std::size(kNames)) return "?";
  return kNames[capability];
}

}  // namespace cloche::sys
