#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "spawn/become_program.h"
#include "spawn/server.h"
#include "sys/process.h"

// The process that signs for a sandbox. It connects to the owner's ssh-agent, so it runs as the
// owner, without any further rights.
namespace cloche::spawn {
namespace {

constexpr ptrdiff_t kMostOfOne = 4;

}  // namespace

OrFailure<sys::PeerIdentity> Server::CheckSigner(const SpawnRequest& request,
                                                 std::span<const int> fds) const {
  if (fds.size() != 4) return Failed(SpawnStep::kPlan, "sign needs four descriptors", EBADMSG);
  auto found = ids_.find(request.sandbox);
  if (found == ids_.end()) return Failed(SpawnStep::kPlan, "sandbox runs not", ESRCH);
  sys::PeerIdentity peer;
  if (auto known = IdentifyClient(fds[0], peer); !known) return std::unexpected(known.error());
  if (peer.uid != alive_.at(found->second).owner)
    return Failed(SpawnStep::kPlan, "sandbox of somebody else", EPERM);
  // One, and those that are about to exit.
  if (std::ranges::count_if(jobs_, [&](const auto& job) {
        return job.second.request.op == SpawnOp::kSign &&
               strcmp(job.second.request.sandbox, request.sandbox) == 0;
      }) >= kMostOfOne)
    return Failed(SpawnStep::kNetwork, "cloche-sign runs", EBUSY);
  return peer;
}

void Server::StartSigner(const SpawnRequest& request, std::span<const int> fds) {
  auto owner = CheckSigner(request, fds);
  if (!owner) return Answer(request, &owner.error());
  StartProcess(request, "", nullptr, std::nullopt,
               [&](int) { return BecomeSigner(*owner, fds.subspan(1)); });
}

int Server::BecomeSigner(const sys::PeerIdentity& owner, std::span<const int> fds) const {
  return BecomeProgram("cloche-sign", {fds[0], fds[1]}, fds[2],
                       [&] { return LoseAllRights(owner.uid, owner.gid); });
}

}  // namespace cloche::spawn
