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

OrFailure<LaunchPlan> ReadPlan(int memfd);

inline constexpr int kFreezeMs = 2000;
SpawnReply ReplyTo(const SpawnRequest& request);
SpawnReply FailureReply(const SpawnRequest& request, const Failure& failure);

// Spawn's loop: one request at a time from cloched, sandboxes that end, stock to refill. Its
// methods are in several files, named below; those before the first name are in server.cc.
class Server {
 public:
  Server(Mode mode, sys::Fd daemon, HostView host, Store& store, sys::CgroupTree& cgroups,
         Workshop& workshop);
  // The user that cloche-egress runs as.
  void SetDaemonUser(uid_t uid, gid_t gid) {
    daemon_uid_ = uid;
    daemon_gid_ = gid;
  }
  int Run();  // until cloched goes, then ends everything it started

 private:
  void HandleRequest();
  void Serve(const SpawnRequest& request, std::span<const int> fds);
  void NoticeMounts();  // of the host, if they have changed
  void TakeInMounts();
  OrFailure<void> CheckSources(const SandboxSpec& spec) const;
  void Launch(const SpawnRequest& request, std::span<const int> fds);
  OrFailure<std::optional<UpperChoice>> ChooseUpper(const LaunchPlan& plan, uint32_t owner);
  OrFailure<Sandbox> BuildToOrder(const SandboxSpec& spec, const UpperChoice& choice);
  OrFailure<Sandbox> TakeOrBuild(const LaunchPlan& plan, bool& from_shelf);
  OrFailure<void> KeepAndLimit(Sandbox& sandbox, const LaunchPlan& plan);
  OrFailure<void> HandOver(const SpawnRequest& request, const LaunchPlan& plan, Sandbox sandbox,
                           int first_command, bool from_shelf, uint64_t received,
                           uint64_t prepared);
  OrFailure<void> SetLimits(Sandbox& sandbox, const KernelLimits& limits);
  uint32_t FullFlags(const Sandbox& sandbox) const;
  void AnswerWithCount(const SpawnRequest& request, const Sandbox& sandbox);
  Sandbox* TakeBack(const std::string& id);  // null: it is not running
  void Stop(const SpawnRequest& request, bool brief);
  void Discard(const SpawnRequest& request, bool count);
  void AnswerAtRest(const SpawnRequest& request, Sandbox& sandbox, bool brief);
  void TellRoom(const SpawnRequest& request);
  void TellDiskUsage(const SpawnRequest& request);
  void Answer(const SpawnRequest& request, const Failure* failure);
  void Refuse(const SpawnRequest& request, const Failure& failure) { Answer(request, &failure); }
  void InitEnded(pid_t pid);
  OrFailure<void> IdentifyClient(int socket, sys::PeerIdentity& peer) const;
  void Dispose(Sandbox sandbox);  // never handed out, or failed halfway
  OrFailure<void> Watch(Sandbox& sandbox);
  void CleanUp(Sandbox& sandbox);
  void Sweep(const std::string& cgroup);
  void LeaveMounts(const Sandbox& sandbox);
  // False: the user has too many descriptors in flight, and it was not sent.
  bool Tell(const SpawnReply& reply, std::span<const int> fds = {});
  void RestartKeeper();
  void Shutdown();  // ends everything we started
  // refill.cc
  int RefillDelay() const;       // ms, longer if more is in stock; -1 = nothing to do
  void Refill();                 // begins one
  void FinishRefill(pid_t pid);  // waits for its report and shelves it
  void FinishOneOf(const std::string& key);
  void FinishRefills();
  // jobs.cc
  void StartJob(const SpawnRequest& request);
  void EndJob(uint64_t number);
  void ThawJob(uint64_t number);
  void Flush(const SpawnRequest& request);
  void Divide(const SpawnRequest& request);
  // Fails if a job is working on the same state.
  OrFailure<void> CheckUndisturbed(const SpawnRequest& request) const;
  OrFailure<void> CheckJob(const SpawnRequest& request) const;
  // Runs `work` in its own process; a status other than 0 is a failure to report.
  void StartProcess(const SpawnRequest& request, const std::string& cgroup,
                    std::shared_ptr<Mask> mask, std::optional<uid_t> reads_for,
                    const std::function<int(int answer)>& work);
  OrFailure<void> DoJob(const SpawnRequest& request, const std::string& cgroup, SpawnReply& reply);
  OrFailure<void> SaveFrozen(const SpawnRequest& request, const std::string& cgroup,
                             SpawnReply& reply);
  void JobEnded(pid_t pid);
  struct Job;
  void Conclude(const Job& job, int status);
  static std::string HelperOf(SpawnOp op);
  void ConcludeHelper(const Job& job, const std::string& program, int status);
  void Retain(const SpawnRequest& request, std::span<const int> fds);
  // read_changes.cc
  enum class Use { kDiff, kPromote, kFlatten };
  struct Wanted {
    Use use{};
    std::string snapshot;  // "" = the sandbox as it is
    std::string against;   // another snapshot; "" = the base
    bool live = false;     // it may be running
    bool freeze = false;   // and is frozen then
    bool few = false;      // only if little changed
  };
  struct OpenedState {
    sys::PeerIdentity caller;
    StateLayout layout;
    std::vector<sys::Fd> fds;  // of the layout, from its first number on
    std::shared_ptr<Mask> mask;
    std::vector<std::string> asked;  // paths to promote; empty: everything
    std::string cgroup;              // the frozen one; "" = none
    pid_t init = 0;                  // of this state, if it runs
    std::vector<sys::Fd> homes;      // for flattening: the directory of each slot in the layout
    // If a snapshot is promoted: the sandbox's current uppers, and their bases.
    struct Present {
      sys::Fd upper;
      int32_t base = -1;
    };
    std::vector<Present> present;
  };
  // The descriptors through which a helper talks to cloched.
  struct Talk {
    int answer = -1, question = -1, complaint = -1;
  };
  // Starts cloche-diff or cloche-promote.
  void StartDiffOrPromote(const SpawnRequest& request, const Wanted& wanted,
                          std::span<const int> fds);
  void StartBirthNote(const SpawnRequest& request, std::span<const int> fds);
  bool HasTooManyReaders(uid_t uid) const;
  // Of the fds of ask::Diff and ask::Promote it uses plan, client and paths.
  OrFailure<OpenedState> OpenState(const SpawnRequest& request, const Wanted& wanted,
                                   std::span<const int> fds);
  static constexpr int kTooMuch = 75;  // exit status if more than a few changed
  static constexpr int kRenamed = 76;  // exit status if ask::Flatten is needed first
  static int FdOf(const OpenedState& opened, int32_t number);  // of its layout
  OrFailure<void> FindAllSpecial(OpenedState& opened, bool copied, bool few_only) const;
  // Rootless, before a promotion.
  OrFailure<void> MarkAllNew(const OpenedState& opened) const;
  // These return only on failure, after saying why.
  int BecomeDiffOrPromote(OpenedState& opened, const Wanted& wanted, const Talk& talk);
  int BecomeHelper(const char* name, const sys::PeerIdentity& caller, const Talk& talk,
                   std::span<const int> passed) const;
  // flatten.cc
  void StartFlatten(const SpawnRequest& request, std::span<const int> fds);
  OrFailure<void> Flatten(OpenedState& opened) const;
  // network.cc
  void StartNetworkJob(const SpawnRequest& request, std::span<const int> fds);
  OrFailure<void> CheckNetworkJob(const SpawnRequest& request, std::span<const int> fds) const;
  OrFailure<std::vector<sys::Fd>> DoNetworkJob(const SpawnRequest& request, int init,
                                               std::span<const int> fds) const;
  void StartEgress(const SpawnRequest& request, std::span<const int> fds);
  int LoseAllRights(uid_t uid, gid_t gid) const;     // for a helper; 0 or -errno
  int BecomeEgress(std::span<const int> fds) const;  // returns only on failure
  // install_ca.cc
  struct CaFiles {
    sys::Fd own, all, java;  // memfds
  };
  OrFailure<void> ReadBundle(int mounts, int bundle) const;
  OrFailure<CaFiles> MakeCaFiles(int certificates, int bundle) const;
  OrFailure<void> InstallCa(int mounts, int certificates) const;
  // forget.cc
  static OrFailure<void> ForgetBase(int mounts);
  // sign.cc
  void StartSigner(const SpawnRequest& request, std::span<const int> fds);
  OrFailure<sys::PeerIdentity> CheckSigner(const SpawnRequest& request,
                                           std::span<const int> fds) const;
  int BecomeSigner(const sys::PeerIdentity& owner, std::span<const int> fds) const;

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
    std::string cgroup;  // the one it freezes; "" = none
    sys::Fd pidfd, answer;
    std::shared_ptr<Mask> mask;  // the one it reads
  };
  std::map<pid_t, Job> jobs_;
  std::map<pid_t, uid_t> readers_;          // those that read for somebody
  std::deque<SpawnRequest> queued_;         // jobs that wait
  std::map<pid_t, Preparation> preparing_;  // by init's pid
  std::map<pid_t, Sandbox> alive_;          // handed out or being disposed of, by init's pid
  std::map<std::string, pid_t> ids_;        // handed out
  uint64_t mounts_changed_ = 0;             // when the host's mounts last did
  bool quit_ = false;
};

}  // namespace cloche::spawn
