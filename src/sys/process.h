#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <span>
#include <string>

#include "sys/fd.h"

namespace cloche::sys {

// A kernel may be built without them. Nothing depends on it: clocks cannot be set inside anyway.
bool HasTimeNamespaces();

// clone3 with new user, mount, pid, network, ipc, uts and time namespaces (and, with `own_cgroup`
// >= 0, starting in that v2 group). 0 in the child, the pid in the parent (with `pidfd` set), or
// -errno.
long CloneSandbox(int own_cgroup, int& pidfd);

int UnshareCgroupNamespace();
int EnterOwnUserAndMountNamespace();  // rootless: this process becomes privileged over itself
int UnshareMountNamespace();
int EnterMountsOf(int process);  // by its pidfd, or its mount namespace itself
// Filesystem ids of a mapped root, while keeping our capabilities: an overlay remembers them.
int KeepCapabilitiesAcrossIds();
int SetFsIds(uid_t uid, gid_t gid);
int SetEffectiveUid(uid_t uid);  // of this thread, capabilities kept
// Switches filesystem checks to another user's rights (no DAC capabilities), and back. The second
// ends the process if it fails: half-borrowed rights must not be used.
int SeeAs(uid_t uid, gid_t gid, std::span<const uint32_t> groups);
void SeeAsOurselves();
int OpenPidfd(pid_t pid);
int PidfdSignal(int pidfd, int signal);
int OpenMountNamespace(pid_t pid);
uint64_t RaiseFileLimit();      // of open files, as far as possible: the new one
uint64_t UsualFileLimit();      // before it was first raised
int CloseFrom(unsigned first);  // close_range to the end
int OpenBeneath(int dir, const char* path, int flags, bool follow_inside);  // openat2
// Beneath `dir`, through no symlink, onto no other mount.
int OpenOnMount(int dir, const char* path, int flags);
int OpenWithoutSymlinks(const char* path, int flags);  // absolute
bool IsMountRoot(int fd);
uint64_t MountIdOf(int fd);  // of the mount it was opened on; 0: unknown
bool IsMountRootAt(int dir, const char* name);
int SealedMemfd(const char* name, const void* data, size_t size);
// Reads a sealed memfd, which nobody can change any more; EINVAL: not sealed, or longer than
// `most`.
int ReadSealed(int memfd, std::string& content, size_t most);

// Becomes this user for good, without groups or capabilities; without `privileged`, when no other
// uid is available, only drops the capabilities.
int BecomePowerless(uid_t uid, gid_t gid, bool privileged);
struct PeerIdentity;
// For good: reads what `who` may read. Root still reads everything; without `privileged`, when we
// have the caller's uid, so do callers with files they made unreadable to themselves.
int BecomeReader(const PeerIdentity& who, bool privileged);
// Likewise, to write with their rights; of root's capabilities, only those over files remain.
int BecomeWriter(const PeerIdentity& who, bool privileged);

// Allocation-free.
int DropBoundingExcept(uint64_t keep);
int SetCapabilities(uint64_t mask);  // permitted = effective = mask, inheritable and ambient empty
bool HoldsExactly(uint64_t effective, uint64_t bounding);
int SetNoNewPrivileges();
int DieWithParent();
int SetDumpable(bool dumpable);
bool SeccompInForce();  // act, then verify
bool NoNewPrivilegesInForce();
int BringLoopbackUp();

// Docker's default capabilities without NET_RAW. If a path of the host is real, also without
// SETFCAP: file capabilities would be valid outside.
uint64_t RootInsideCapabilities(bool real_paths);

struct PeerIdentity {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
  size_t group_count = 0;
  gid_t groups[256] = {};
};
int PeerOf(int socket, PeerIdentity& peer);  // who connected, according to the kernel
// 0 if `socket` was accepted at a socket file owned by root, otherwise -errno. Without this check,
// PeerOf proves nothing: on the connecting side of a socket it names the listener, and many
// listeners are root. Needs CAP_NET_ADMIN.
int AcceptedAtFileOfRoot(int socket);

}  // namespace cloche::sys
