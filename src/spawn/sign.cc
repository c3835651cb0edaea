#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "spawn/beside.h"
#include "spawn/server.h"
#include "sys/process.h"

// The process that signs for a sandbox. It connects to its owner's ssh-agent, so it is him, without
// any right beyond that.
namespace cloche::spawn {
namespace {

constexpr ptrdiff_t kMostOfOne = 4;

}  // namespace

Outcome<sys::PeerIdentity> Server::CheckSigner(const SpawnRequest& request,
                                               std::span<const int> fds) const {
  if (fds.size() != 4) return Failed(SpawnStage::kPlan, "sign needs four descriptors", EBADMSG);
  auto found = ids_.find(request.sandbox);
  if (found == ids_.end()) return Failed(SpawnStage::kPlan, "sandbox runs not", ESRCH);
  sys::PeerIdentity peer;
  if (auto known = IdentifyClient(fds[0], peer); !known) return std::unexpected(known.error());
  if (peer.uid != alive_.at(found->second).owner)
    return Failed(SpawnStage::kPlan, "sandbox of somebody else", EPERM);
  // One, and those that are about to leave.
  if (std::ranges::count_if(jobs_, [&](const auto& job) {
        return job.second.request.op == SpawnOp::kSign &&
               strcmp(job.second.request.sandbox, request.sandbox) == 0;
      }) >= kMostOfOne)
    return Failed(SpawnStage::kNetwork, "cloche-sign runs", EBUSY);
  return peer;
}

void Server::StartSigner(const SpawnRequest& request, std::span<const int> fds) {
  auto owner = CheckSigner(request, fds);
  if (!owner) return Answer(request, &owner.error());
  StartProcess(request, "", nullptr, std::nullopt,
               [&](int) { return BecomeSigner(*owner, fds.subspan(1)); });
}

int Server::BecomeSigner(const sys::PeerIdentity& owner, std::span<const int> fds) const {
  const std::string program = ProgramBeside("cloche-sign");
  const sys::Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (dup2(null.get(), fd) < 0) return 1;
  if (dup2(fds[2], STDERR_FILENO) < 0) return 1;
  const auto failed = [](const char* what, int error) {
    dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(error));
    return 1;
  };
  if (int error = ArrangeDescriptors({fds[0], fds[1]}); error < 0)
    return failed("arrange descriptors", -error);
  const bool privileged = mode_ == Mode::kSystem;
  const uid_t uid = privileged ? owner.uid : getuid();
  const gid_t gid = privileged ? owner.gid : getgid();
  if (int error = sys::BecomePowerless(uid, gid, privileged); error < 0)
    return failed("become the sandbox's owner", -error);
  sys::DieWithParent();  // a change of user forgets it
  const char* arguments[] = {"cloche-sign", nullptr};
  const char* environment[] = {nullptr};
  execve(program.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
  return failed("start cloche-sign", errno);
}

}  // namespace cloche::spawn
