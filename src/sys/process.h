#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <span>
#include <string>

#include "sys/fd.h"

namespace cloche::sys {

// A kernel may be built without. Nothing rests on it: clocks cannot be set inside anyway.
bool HasTimeNamespaces();

// clone3 with new user, mount, pid, network, ipc, uts and time (and, with `own_cgroup` >= 0, born
// into that v2 group) namespaces. 0 in the child, the pid in the parent (with `pidfd` set), or
// -errno.
long CloneSandbox(int own_cgroup, int& pidfd);

int UnshareCgroupNamespace();
int EnterOwnUserAndMountNamespace();  // rootless: this process becomes privileged over itself
int UnshareMountNamespace();
int EnterMountsOf(int process);  // by its pidfd, or its mount namespace itself
// File-system ids of a mapped root, while keeping our capabilities: an overlay remembers them.
int KeepCapabilitiesAcrossIds();
int SetFsIds(uid_t uid, gid_t gid);
int SetEffectiveUid(uid_t uid);  // of this thread, capabilities kept
// File-system checks as another user would face them (no DAC capabilities), and back. The second
// ends the process if it fails: half-borrowed rights are nobody's.
int SeeAs(uid_t uid, gid_t gid, std::span<const uint32_t> groups);
void SeeAsOurselves();
int OpenPidfd(pid_t pid);
int PidfdSignal(int pidfd, int signal);
int OpenMountNamespace(pid_t pid);
uint64_t RaiseFileLimit();      // of open files, as far as it goes: the new one
uint64_t UsualFileLimit();      // before it was raised first
int CloseFrom(unsigned first);  // close_range to the end
int OpenBeneath(int dir, const char* path, int flags, bool follow_inside);  // openat2
// Beneath, through no symlink, onto no other mount.
int OpenOnMount(int dir, const char* path, int flags);
int OpenWithoutSymlinks(const char* path, int flags);  // absolute
bool IsMountRoot(int fd);
uint64_t MountIdOf(int fd);  // of the mount it was opened on; 0: the kernel does not tell
bool IsMountRootAt(int dir, const char* name);
int SealedMemfd(const char* name, const void* data, size_t size);
// All of one that nobody can change any more; EINVAL: it is none, or longer than `most`.
int ReadSealed(int memfd, std::string& content, size_t most);

// Becomes this user for good, without groups or capabilities; without `privileged`, where no other
// uid can be had, it only loses the capabilities.
int BecomePowerless(uid_t uid, gid_t gid, bool privileged);
struct PeerIdentity;
// For good: reads what `who` may read. Root still reads everything; without `privileged`, where
// we have the caller's uid, so does the caller with files they made unreadable to themselves.
int BecomeReader(const PeerIdentity& who, bool privileged);
// Likewise, to write with their rights; of root's, only those over files remain.
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

// Docker's default capabilities without NET_RAW. Where a path of the host is real, without the one
// to give capabilities to files: they would be good outside.
uint64_t RootInsideCapabilities(bool real_paths);

struct PeerIdentity {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
  size_t group_count = 0;
  gid_t groups[256] = {};
};
int PeerOf(int socket, PeerIdentity& peer);  // who connected, by the kernel
// 0 when `socket` was accepted at a socket file of root's, else -errno. Without it PeerOf is no
// proof: on the connecting side of a socket it names who listens, and many who do are root.
// Needs CAP_NET_ADMIN.
int AcceptedAtFileOfRoot(int socket);

}  // namespace cloche::sys
