#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "spawn/beside.h"
#include "spawn/server.h"
#include "sys/file_limit.h"
#include "sys/message.h"
#include "sys/process.h"
#include "sys/sandbox_network.h"

// The way out of a sandbox that was granted one: laid afterwards, by a process that enters its
// network namespace, so that nobody else pays for it. And the process that guards it.
namespace cloche::spawn {
namespace {

constexpr ptrdiff_t kMostAtOnce = 128;
constexpr ptrdiff_t kMostConnectsOfOne = 32;
constexpr uint64_t kEgressFiles = 65536;  // 10,000 connections, six of them each

}  // namespace

Outcome<void> Server::CheckNetworkJob(const SpawnRequest& request, std::span<const int> fds) const {
  const bool trust = request.op == SpawnOp::kTrust;
  if (fds.size() != (mode_ == Mode::kSystem ? 1u : 2u) + (trust ? 1u : 0u))
    return Failed(SpawnStage::kPlan, "network needs its owner", EBADMSG);
  auto found = ids_.find(request.sandbox);
  if (found == ids_.end()) return Failed(SpawnStage::kPlan, "sandbox runs not", ESRCH);
  sys::PeerIdentity peer;
  if (auto known = IdentifyClient(fds[0], peer); !known) return known;
  if (peer.uid != alive_.at(found->second).owner)
    return Failed(SpawnStage::kPlan, "sandbox of somebody else", EPERM);
  if (request.op == SpawnOp::kConnect && (request.argument == 0 || request.argument > 65535))
    return Failed(SpawnStage::kPlan, "port", EINVAL);
  // A program inside may let those who connect or read a file wait: that is at the cost of its
  // owner alone.
  const bool connects = request.op == SpawnOp::kConnect || request.op == SpawnOp::kForget || trust;
  const auto counts = [&](const auto& job) {
    if (job.second.request.op != request.op || !connects)
      return job.second.request.op == request.op;
    const auto other = ids_.find(job.second.request.sandbox);
    return other != ids_.end() && alive_.at(other->second).owner == peer.uid;
  };
  if (std::ranges::count_if(jobs_, counts) >= (connects ? kMostConnectsOfOne : kMostAtOnce))
    return Failed(SpawnStage::kNetwork, "too many at once", EAGAIN);
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

Outcome<std::vector<sys::Fd>> Server::DoNetworkJob(const SpawnRequest& request, int init,
                                                   std::span<const int> fds) const {
  const int witness = mode_ == Mode::kSystem ? -1 : fds.back();
  std::vector<sys::Fd> made;
  if (request.op == SpawnOp::kTrust) {
    if (auto laid = LayTrust(mode_ == Mode::kSystem ? init : witness, fds[1]); !laid)
      return std::unexpected(laid.error());
    return made;
  }
  if (request.op == SpawnOp::kForget) {
    if (auto done = ForgetBase(mode_ == Mode::kSystem ? init : witness); !done)
      return std::unexpected(done.error());
    return made;
  }
  // Init's memory belongs to the user namespace that cloched was started in. Only root may look at
  // it through there: rootless a socket of init's shows the way.
  if (int error =
          mode_ == Mode::kSystem ? sys::EnterNetworkOf(init) : sys::EnterNetworkOfSocket(witness);
      error < 0)
    return Failed(SpawnStage::kNetwork, "enter network namespace", error);
  if (request.op == SpawnOp::kConnect) {
    sys::Fd connected(sys::ConnectToLoopback(static_cast<uint16_t>(request.argument)));
    if (!connected.valid())
      return Failed(SpawnStage::kNetwork, "connect", connected.get(),
                    "port " + std::to_string(request.argument));
    made.push_back(std::move(connected));
    return made;
  }
  sys::BorderSockets sockets;
  if (int error = sys::OpenBorderSockets(sockets); error < 0)
    return Failed(SpawnStage::kNetwork, "open sockets inside", error);
  sys::Fd refusals;
  const char* step = "";
  if (int error = sys::CloseBorder(sys::PortsOf(sockets), refusals, step); error < 0)
    return Failed(SpawnStage::kNetwork, step, error);
  for (sys::Fd* each :
       {&sockets.tcp4, &sockets.dns4, &sockets.proxy4, &sockets.tcp6, &sockets.dns6, &refusals})
    if (each->valid()) made.push_back(std::move(*each));
  return made;
}

void Server::StartEgress(const SpawnRequest& request, std::span<const int> fds) {
  Outcome<void> checked;
  if (fds.size() != 2) checked = Failed(SpawnStage::kPlan, "egress needs a socket", EBADMSG);
  // It reads what the whole world sends: never as root.
  else if (mode_ == Mode::kSystem && daemon_uid_ == 0)
    checked = Failed(SpawnStage::kPrivileges, "find the daemon's user", ENOENT);
  else if (std::ranges::any_of(
               jobs_, [](const auto& job) { return job.second.request.op == SpawnOp::kEgress; }))
    checked = Failed(SpawnStage::kNetwork, "cloche-egress runs", EBUSY);
  if (!checked) return Answer(request, &checked.error());
  StartProcess(request, "", nullptr, std::nullopt, [&](int) { return BecomeEgress(fds); });
}

int Server::BecomeEgress(std::span<const int> fds) const {
  const std::string program = ProgramBeside("cloche-egress");
  const sys::Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (dup2(null.get(), fd) < 0) return 1;
  if (dup2(fds[1], STDERR_FILENO) < 0) return 1;
  const auto failed = [](const char* what, int error) {
    dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(error));
    return 1;
  };
  if (int error = ArrangeDescriptors({fds[0]}); error < 0)
    return failed("arrange descriptors", -error);
  const bool privileged = mode_ == Mode::kSystem;
  const uid_t uid = privileged ? daemon_uid_ : getuid();
  const gid_t gid = privileged ? daemon_gid_ : getgid();
  (void)sys::AllowFiles(kEgressFiles);  // it counts what it has
  if (int error = sys::BecomePowerless(uid, gid, privileged); error < 0)
    return failed("become the daemon's user", -error);
  sys::DieWithParent();  // a change of user forgets it
  const char* arguments[] = {"cloche-egress", nullptr};
  const char* environment[] = {nullptr};
  execve(program.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
  return failed("start cloche-egress", errno);
}

}  // namespace cloche::spawn
