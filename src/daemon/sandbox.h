#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/command_run.h"
#include "daemon/event.h"
#include "daemon/memory_groups.h"
#include "daemon/netlink_supply.h"
#include "daemon/sandbox_network.h"
#include "daemon/service.h"
#include "daemon/sign_link.h"
#include "daemon/spawn_link.h"
#include "policy/plan.h"
#include "sys/cgroup_meter.h"
#include "sys/clocks.h"
#include "sys/dead_ends.h"
#include "sys/file.h"
#include "sys/seccomp.h"

namespace cloche::daemon {

struct Denial {
  std::string call;
  std::vector<uint64_t> args;
  uint32_t pid = 0;
  std::string process;
  sys::DenialClass kind{};
  uint64_t count = 0;
  std::chrono::system_clock::time_point first, last;
  std::string detail = {};  // of what is no call
};

inline constexpr size_t kMaxDenialKinds = 64;  // of one sandbox, in rows of their own

// Kills a sandbox for a reason, because of the limit of this name.
using EndSandbox = std::function<void(const char* limit, const std::string& reason)>;

// One sandbox: what it was asked to be, what it is, its commands, what it was denied.
class Sandbox : public std::enable_shared_from_this<Sandbox> {
 public:
  // kUnreadable: its record is not one we understand. It stays as it is on disk, is shown, and can
  // be removed.
  enum class State { kStarting, kRunning, kStopped, kEnded, kGoing, kUnreadable };

  Sandbox(asio::io_context& io, std::string id_in, uint32_t owner_in, EndSandbox end)
      : id(std::move(id_in)),
        owner(owner_in),
        end_(std::move(end)),
        io_(io),
        control_(io),
        listener_(io),
        oom_(io) {}

  const std::string id;
  const uint32_t owner;
  std::string name;
  SandboxRequest request;
  Planned planned;
  bool keep = false;
  State state = State::kStarting;
  bool stopping = false;       // spawn was asked to end it
  bool to_be_stopped = false;  // as soon as it is our turn
  std::string reason;
  std::chrono::system_clock::time_point created = std::chrono::system_clock::now();
  // --life counts from here: of a fork it is its parent's, for a limit is not renewed by copying.
  std::chrono::system_clock::time_point lives_since = created;
  uint64_t commands_started = 0;
  int64_t birth_ns = sys::RealNanos();     // since then reality may have moved
  ClockTrail clock{sys::ReadClocks(), 0};  // since then
  int64_t clock_back_before_ns = 0;        // set back before it was refreshed, and known then
  std::string project_file_digest;  // of request.project_file: "sha256:..."; "" = there is none
  std::vector<std::string> moved;  // paths that did so before a refresh, and were changed here, too
  std::vector<std::string> guarded;     // these and more, in base64: never promoted as if unmoved
  std::vector<int64_t> earlier_births;  // before it was refreshed
  // Of a fork: whose promotions before which moment its state already has.
  std::map<std::string, int64_t> ancestors;
  // Since when reality may have moved for a state that was saved then.
  int64_t BirthAt(std::chrono::system_clock::time_point saved) const;
  // By how much the clock was set back since. Of an older state it tells which birth is its own.
  int64_t ClockBackFor(bool older_state) const {
    return clock.back_ns() + (older_state ? clock_back_before_ns : 0);
  }
  Json birth_note;              // what git knew of the project then: {project, commit, dirty}
  std::string head;             // the snapshot its files were last equal to; "" = its base
  bool head_is_current = true;  // and nothing has run since
  Json origin;                  // of a fork: {sandbox, snapshot}
  std::chrono::steady_clock::time_point last_snapshot = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Service>> services;  // of request.services, once they were started
  uint32_t service_starts = 0;
  std::shared_ptr<SandboxNetwork> network;  // since it was first asked for
  std::shared_ptr<SignLink> signer;         // while it runs, and a key was granted
  std::function<void(Sandbox&)> on_detach;  // its processes are gone
  std::function<void(Sandbox&)> on_exit;    // a command is about to be told ended
  uint64_t launches = 0;                    // which of its lives this is
  std::shared_ptr<Event> dividing;          // set while a memory group is made for the next command
  std::shared_ptr<Event> turn;              // set while somebody saves, restores, starts or ends it

  // Takes over the fds of a successful launch.
  void Attach(SpawnAnswer answer, const sys::CgroupHost& cgroups);
  void Detach(const std::string& why);  // its init is gone

  // Sends the command to init; the command then reports for itself.
  Status Start(const std::shared_ptr<CommandRun>& command, const Command& image);
  void Adopt(const std::shared_ptr<CommandRun>& command);  // spawn has started it
  // Without a cgroup to freeze, init stops everybody for a moment. False: there is no need to.
  Task<Result<bool>> Pause();
  void Resume();
  // A descriptor that init made: kSocket leads to its network namespace, kMounts is the other,
  // kListen is where programs inside ask for signatures. `what` is what an error is about.
  Task<Result<sys::Fd>> AskSocket(InitOp op, std::string what);
  bool AskOwner(uint16_t port);  // of a socket; the network is told
  void Signal(uint32_t command, int signal);
  void KillAll();

  std::shared_ptr<CommandRun> FindCommand(const std::string& number) const;
  void AddCommand(std::shared_ptr<CommandRun> command);
  const std::map<uint32_t, std::shared_ptr<CommandRun>>& commands() const { return commands_; }
  size_t running_commands() const;  // services are not counted
  std::chrono::steady_clock::time_point last_activity() const { return last_activity_; }
  sys::CgroupUsage Usage(sys::UsageDetail detail = sys::UsageDetail::kCurrent) const {
    return meter_.Read(detail);
  }
  // What starts next would be in one memory group with somebody: the engine asks spawn for another.
  bool NeedsMemoryGroup();
  MemoryGroups& memory_groups() { return memory_groups_; }
  void EnterMemoryGroup();  // spawn has made the next
  bool WasOutOfMemory();    // in this life of it
  Json ToJson() const;
  Json ServicesJson() const;
  // "; see: cloche net ID log", where there still will be something to see.
  std::string See(std::string_view verb, std::string_view what = "") const;
  // A decoy was on its way out: a violation.
  void RecordCanary(const std::string& canary, const std::string& form,
                    const std::string& destination);
  void PinProjectFile(std::string text);  // what holds from now on

 private:
  Task<void> ReadInit(std::shared_ptr<Sandbox> self);
  Task<void> ReadDenials(std::shared_ptr<Sandbox> self);
  Task<void> WatchOom(std::shared_ptr<Sandbox> self, bool v2);
  void Handle(const InitMessage& message, std::vector<sys::Fd> fds);
  bool Record(const sys::SeccompNotification& notification);  // true: it ends the sandbox
  bool CheckOom();
  void EndForMemory(uint32_t group);
  static void NoteKill(CommandRun& command);
  void TellOfDeadEnds(CommandRun& failed);
  std::vector<LimitHit> LimitsHit(const CommandRun& command, const sys::CgroupUsage& usage);
  LimitHit MemoryHit() const;
  Json Enforced() const;
  std::string NetworkText() const;

  EndSandbox end_;
  asio::io_context& io_;
  asio::posix::stream_descriptor control_, listener_, oom_;
  sys::CgroupVersion cgroup_version_ = sys::CgroupVersion::kNone;
  mutable sys::CgroupMeter meter_;
  int init_pid_ = 0;
  uint32_t uid_base_ = 0;
  bool apparmor_ = false;
  MemoryGroups memory_groups_;
  std::map<uint32_t, int64_t> kills_seen_;  // by memory group
  int64_t refusals_seen_ = 0;
  std::map<uint32_t, std::shared_ptr<CommandRun>> commands_;
  std::vector<Denial> denials_;
  uint64_t denial_count_ = 0;
  sys::DeadEnds dead_ends_;         // that were told
  std::shared_ptr<Event> pausing_;  // set when init has answered
  bool paused_ = false;
  std::shared_ptr<NetlinkSupply> netlink_;  // while it runs
  std::shared_ptr<Event> socket_asked_;
  InitOp socket_op_{};
  sys::Fd socket_;
  std::chrono::steady_clock::time_point last_activity_ = std::chrono::steady_clock::now();
};

}  // namespace cloche::daemon
