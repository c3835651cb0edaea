#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/spawn_protocol.h"
#include "base/state_layout.h"
#include "spawn/host_view.h"
#include "spawn/keeper.h"
#include "spawn/shelf.h"
#include "spawn/store.h"
#include "spawn/workshop.h"
#include "sys/process.h"

namespace cloche::spawn {

// An epoll token with this bit is the control socket of a sandbox in preparation.
inline constexpr uint64_t kReportBit = 1ull << 40;
inline constexpr uint64_t kJobBit = 1ull << 41;  // the pidfd of a job

Outcome<LaunchPlan> ReadPlan(int memfd);

inline constexpr int kFreezeMs = 2000;
SpawnReply ReplyTo(const SpawnRequest& request);
SpawnReply FailureReply(const SpawnRequest& request, const Failure& failure);

// Spawn's loop: one request at a time from cloched, sandboxes that end, stock to refill.
class Server {
 public:
  Server(Mode mode, sys::Fd daemon, HostView host, Store& store, sys::CgroupTree& cgroups,
         Workshop& workshop);
  // Who cloche-egress is to be.
  void SetDaemonUser(uid_t uid, gid_t gid) {
    daemon_uid_ = uid;
    daemon_gid_ = gid;
  }
  int Run();  // until cloched goes; everything it started goes with it

 private:
  void HandleRequest();
  void NoticeMounts();  // of the host, if there are others than before
  void TakeInMounts();
  Outcome<void> CheckSources(const SandboxSpec& spec) const;
  void Launch(const SpawnRequest& request, std::span<const int> fds);
  Outcome<std::optional<UpperChoice>> ChooseUpper(const LaunchPlan& plan, uint32_t owner);
  Outcome<Sandbox> BuildToOrder(const SandboxSpec& spec, const UpperChoice& choice);
  Outcome<Sandbox> TakeOrBuild(const LaunchPlan& plan, bool& from_shelf);
  Outcome<void> HandOver(const SpawnRequest& request, const LaunchPlan& plan, Sandbox sandbox,
                         int first_command, bool from_shelf, uint64_t received, uint64_t prepared);
  Outcome<void> SetLimits(Sandbox& sandbox, const KernelLimits& limits);
  uint32_t FullFlags(const Sandbox& sandbox) const;
  void AnswerWithCount(const SpawnRequest& request, const Sandbox& sandbox);
  void End(const SpawnRequest& request, bool discard);
  void Answer(const SpawnRequest& request, const Failure* failure);
  void InitEnded(pid_t pid);
  // refill.cc
  int RefillDelay() const;       // ms, the longer the more is in stock; -1 = nothing to begin
  void Refill();                 // begins one
  void FinishRefill(pid_t pid);  // waits for its report and shelves it
  void FinishOneOf(const std::string& key);
  void FinishRefills();
  // jobs.cc
  void StartJob(const SpawnRequest& request);
  void Settle(const SpawnRequest& request);
  void Divide(const SpawnRequest& request);
  // No job is at work on the same state.
  Outcome<void> CheckUndisturbed(const SpawnRequest& request) const;
  Outcome<void> CheckJob(const SpawnRequest& request) const;
  // Runs `work` in a process of its own; a status other than 0 is a failure to be answered.
  void StartProcess(const SpawnRequest& request, const std::string& cgroup,
                    std::shared_ptr<Mask> mask, std::optional<uid_t> looker,
                    const std::function<int(int answer)>& work);
  Outcome<void> DoJob(const SpawnRequest& request, const std::string& cgroup, SpawnReply& reply);
  Outcome<void> SaveFrozen(const SpawnRequest& request, const std::string& cgroup,
                           SpawnReply& reply);
  void JobEnded(pid_t pid);
  struct Job;
  void Conclude(const Job& job, int status);
  void Retain(const SpawnRequest& request, std::span<const int> fds);
  // look.cc
  struct Look {
    sys::PeerIdentity caller;
    StateLayout layout;
    std::vector<sys::Fd> fds;  // of the layout, from its first number on
    std::shared_ptr<Mask> mask;
    bool promote = false;
    bool few = false;
    std::vector<std::string> asked;  // what is promoted; none: everything
    std::string cgroup;              // that stands still meanwhile; "" = none
    pid_t init = 0;                  // of the state that is looked at, if it runs
    std::vector<sys::Fd> homes;      // of flatten: the directory of each slot of the layout
    // The present uppers of a sandbox of which a snapshot is promoted, and their bases.
    struct Present {
      sys::Fd upper;
      int32_t base = -1;
    };
    std::vector<Present> present;
    int answer = -1, question = -1, complaint = -1;
  };
  void StartLook(const SpawnRequest& request, std::span<const int> fds);
  Outcome<Look> PrepareLook(const SpawnRequest& request, std::span<const int> fds);
  static constexpr int kTooMuch = 75;                 // how it ends when more than a few changed
  static constexpr int kRenamed = 76;                 // how it ends when kFlatten is needed first
  static int FdOf(const Look& look, int32_t number);  // of its layout
  Outcome<void> FindAllSpecial(Look& look, bool copied) const;
  Outcome<void> MarkAllMade(const Look& look) const;  // rootless, before it is promoted
  int BecomeDiffer(Look& look);  // returns only when it failed, and has said why
  void EndLook(const SpawnRequest& request);
  // flatten.cc
  void StartFlatten(const SpawnRequest& request, std::span<const int> fds);
  Outcome<void> Flatten(Look& look) const;
  // network.cc
  void StartNetworkJob(const SpawnRequest& request, std::span<const int> fds);
  Outcome<void> CheckNetworkJob(const SpawnRequest& request, std::span<const int> fds) const;
  Outcome<std::vector<sys::Fd>> DoNetworkJob(const SpawnRequest& request, int init,
                                             std::span<const int> fds) const;
  // trust.cc
  Outcome<void> LayTrust(int mounts, int certificates) const;
  // forget.cc
  static Outcome<void> ForgetBase(int mounts);
  void StartEgress(const SpawnRequest& request, std::span<const int> fds);
  int BecomeEgress(std::span<const int> fds) const;  // returns only when it failed
  // sign.cc
  void StartSigner(const SpawnRequest& request, std::span<const int> fds);
  Outcome<sys::PeerIdentity> CheckSigner(const SpawnRequest& request,
                                         std::span<const int> fds) const;
  int BecomeSigner(const sys::PeerIdentity& owner, std::span<const int> fds) const;
  Outcome<void> IdentifyClient(int socket, sys::PeerIdentity& peer) const;
  void Dispose(Sandbox sandbox);  // never handed out, or failed half-way
  Outcome<void> Watch(Sandbox& sandbox);
  void CleanUp(Sandbox& sandbox);
  void Sweep(const std::string& cgroup);
  void LeaveMounts(const Sandbox& sandbox);
  // False: the user has too many descriptors on their way, and it was not sent.
  bool Tell(const SpawnReply& reply, std::span<const int> fds = {});
  void RestartKeeper();
  void Shutdown();  // nothing of ours is left when it returns

  Mode mode_;
  sys::Fd daemon_;
  HostView host_;
  sys::Fd epoll_, keeper_;
  pid_t keeper_pid_ = 0;
  uid_t daemon_uid_ = 0;
  gid_t daemon_gid_ = 0;
  Store& store_;
  sys::CgroupTree& cgroups_;
  Workshop& workshop_;
  Shelf shelf_;
  struct Preparation {
    std::string key;
    Sandbox sandbox;
  };
  struct Job {
    SpawnRequest request;
    std::string cgroup;  // that it freezes; "" = none
    sys::Fd pidfd, answer;
    std::shared_ptr<Mask> mask;  // that it looks at
  };
  std::map<pid_t, Job> jobs_;
  std::map<pid_t, uid_t> looks_;            // those of them that only look, and for whom
  std::deque<SpawnRequest> queued_;         // jobs that take turns
  std::map<pid_t, Preparation> preparing_;  // by init's pid
  std::map<pid_t, Sandbox> alive_;          // handed out or being disposed of, by init's pid
  std::map<std::string, pid_t> ids_;        // handed out
  uint64_t mounts_changed_ = 0;             // when the host's did, last
  bool quit_ = false;
};

}  // namespace cloche::spawn
