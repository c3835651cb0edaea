#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "spawn/become_program.h"
#include "spawn/server.h"
#include "sys/file_limit.h"
#include "sys/message.h"
#include "sys/process.h"
#include "sys/sandbox_network.h"

// The way out of a sandbox that was granted one, and the process that guards it. Set up afterwards
// by a process that enters its network namespace, so that other sandboxes do not pay for it.
namespace cloche::spawn {
namespace {

constexpr ptrdiff_t kMostAtOnce = 128;
constexpr ptrdiff_t kMostConnectsOfOne = 32;
constexpr uint64_t kEgressFiles = 65536;  // 10,000 connections, six each

}  // namespace

OrFailure<void> Server::CheckNetworkJob(const SpawnRequest& request,
                                        std::span<const int> fds) const {
  const bool trust = request.op == SpawnOp::kInstallCa;
  if (fds.size() != (mode_ == Mode::kSystem ? 1u : 2u) + (trust ? 1u : 0u))
    return Failed(SpawnStep::kPlan, "network needs its owner", EBADMSG);
  auto found = ids_.find(request.sandbox);
  if (found == ids_.end()) return Failed(SpawnStep::kPlan, "sandbox runs not", ESRCH);
  sys::PeerIdentity peer;
  if (auto known = IdentifyClient(fds[0], peer); !known) return known;
  if (peer.uid != alive_.at(found->second).owner)
    return Failed(SpawnStep::kPlan, "sandbox of somebody else", EPERM);
  if (request.op == SpawnOp::kConnect && BodyOf<ask::Connect>(request).port == 0)
    return Failed(SpawnStep::kPlan, "port", EINVAL);
  // A program inside may keep whoever connects or reads a file waiting; only its owner pays for
  // that.
  const bool connects = request.op == SpawnOp::kConnect || request.op == SpawnOp::kForget || trust;
  const auto counts = [&](const auto& job) {
    if (job.second.request.op != request.op || !connects)
      return job.second.request.op == request.op;
    const auto other = ids_.find(job.second.request.sandbox);
    return other != ids_.end() && alive_.at(other->second).owner == peer.uid;
  };
  if (std::ranges::count_if(jobs_, counts) >= (connects ? kMostConnectsOfOne : kMostAtOnce))
    return Failed(SpawnStep::kNetwork, "too many at once", EAGAIN);
  return {};
}

void Server::StartNetworkJob(const SpawnRequest& request, std::span<const int> fds) {
  if (auto checked = CheckNetworkJob(request, fds); !checked)
    return Answer(request, &checked.error());
  const int init = alive_.at(ids_.at(request.sandbox)).pidfd.get();
  StartProcess(request, "", nullptr, std::nullopt, [&](int answer) {
    auto made = DoNetworkJob(request, init, fds);
    SpawnReply reply = made ? ReplyTo(request) : FailureReply(request, made.error());
    std::vector<int> passed;
    if (made)
      for (const sys::Fd& each : *made) passed.push_back(each.get());
    return sys::SendMessage(answer, &reply, sizeof reply, passed) > 0 ? 0 : 1;
  });
}

OrFailure<std::vector<sys::Fd>> Server::DoNetworkJob(const SpawnRequest& request, int init,
                                                     std::span<const int> fds) const {
  const int namespace_fd = mode_ == Mode::kSystem ? -1 : fds.back();
  std::vector<sys::Fd> made;
  if (request.op == SpawnOp::kInstallCa) {
    if (auto laid = InstallCa(mode_ == Mode::kSystem ? init : namespace_fd, fds[1]); !laid)
      return std::unexpected(laid.error());
    return made;
  }
  if (request.op == SpawnOp::kForget) {
    if (auto done = ForgetBase(mode_ == Mode::kSystem ? init : namespace_fd); !done)
      return std::unexpected(done.error());
    return made;
  }
  // Init's memory belongs to the user namespace that cloched was started in. Only root may look at
  // it through there; rootless, one of init's sockets leads there.
  if (int error = mode_ == Mode::kSystem ? sys::EnterNetworkOf(init)
                                         : sys::EnterNetworkOfSocket(namespace_fd);
      error < 0)
    return Failed(SpawnStep::kNetwork, "enter network namespace", error);
  if (request.op == SpawnOp::kConnect) {
    const uint16_t port = BodyOf<ask::Connect>(request).port;
    sys::Fd connected(sys::ConnectToLoopback(port));
    if (!connected.valid())
      return Failed(SpawnStep::kNetwork, "connect", connected.get(),
                    "port " + std::to_string(port));
    made.push_back(std::move(connected));
    return made;
  }
  sys::BorderSockets sockets;
  if (int error = sys::OpenBorderSockets(sockets); error < 0)
    return Failed(SpawnStep::kNetwork, "open sockets inside", error);
  sys::Fd refusals;
  const char* step = "";
  if (int error = sys::CloseBorder(sys::PortsOf(sockets), refusals, step); error < 0)
    return Failed(SpawnStep::kNetwork, step, error);
  for (sys::Fd* each :
       {&sockets.tcp4, &sockets.dns4, &sockets.proxy4, &sockets.tcp6, &sockets.dns6, &refusals})
    if (each->valid()) made.push_back(std::move(*each));
  return made;
}

void Server::StartEgress(const SpawnRequest& request, std::span<const int> fds) {
  OrFailure<void> checked;
  if (fds.size() != 2) checked = Failed(SpawnStep::kPlan, "egress needs a socket", EBADMSG);
  // It reads what the whole world sends: never as root.
  else if (mode_ == Mode::kSystem && daemon_uid_ == 0)
    checked = Failed(SpawnStep::kPrivileges, "find the daemon's user", ENOENT);
  else if (std::ranges::any_of(
               jobs_, [](const auto& job) { return job.second.request.op == SpawnOp::kEgress; }))
    checked = Failed(SpawnStep::kNetwork, "cloche-egress runs", EBUSY);
  if (!checked) return Answer(request, &checked.error());
  StartProcess(request, "", nullptr, std::nullopt, [&](int) { return BecomeEgress(fds); });
}

// Rootless, there is no other user to become.
int Server::LoseAllRights(uid_t uid, gid_t gid) const {
  const bool privileged = mode_ == Mode::kSystem;
  if (int error = sys::BecomePowerless(privileged ? uid : getuid(), privileged ? gid : getgid(),
                                       privileged);
      error < 0)
    return error;
  return sys::DieWithParent();  // changing the user resets it
}

int Server::BecomeEgress(std::span<const int> fds) const {
  return BecomeProgram("cloche-egress", {fds[0]}, fds[1], [&] {
    (void)sys::AllowFiles(kEgressFiles);  // it counts its own files
    return LoseAllRights(daemon_uid_, daemon_gid_);
  });
}

}  // namespace cloche::spawn
