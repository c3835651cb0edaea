#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/birth.h"
#include "daemon/command_run.h"
#include "daemon/event.h"
#include "daemon/memory_groups.h"
#include "daemon/netlink_supply.h"
#include "daemon/sandbox_network.h"
#include "daemon/service.h"
#include "daemon/sign_link.h"
#include "daemon/spawn.h"
#include "policy/plan.h"
#include "sys/cgroup_meter.h"
#include "sys/dead_ends.h"
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

// Where a sandbox stands among its saved states.
struct History {
  std::string head;        // the snapshot its files were last equal to; "" = its base
  bool is_current = true;  // and nothing has run since
  Json origin;             // of a fork: {sandbox, snapshot}
  std::chrono::steady_clock::time_point last_save = std::chrono::steady_clock::now();
};

// One sandbox: what it was asked to be, what it is, its commands, what it was denied.
class Sandbox : public std::enable_shared_from_this<Sandbox> {
 public:
  // ARCHITECTURE.md has the table of what may follow what.
  enum class State {
    kStarting,    // its processes, or its files, are being made
    kRunning,     // it has processes
    kStopped,     // it has files, and can be started
    kEnded,       // it has files, and met a limit: nothing runs in it any more
    kGoing,       // it is being removed
    kUnreadable,  // its record is not one we understand: it is shown, and can be removed
  };

  Sandbox(asio::io_context& io, std::string id_in, uint32_t owner_in, std::string network_log,
          EndSandbox end)
      : id(std::move(id_in)),
        owner(owner_in),
        network_log_(std::move(network_log)),
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
  bool stopping = false;       // spawn was asked to end it
  bool to_be_stopped = false;  // as soon as it is our turn
  std::chrono::system_clock::time_point created = std::chrono::system_clock::now();
  // --life counts from here: of a fork it is its parent's, for a limit is not renewed by copying.
  std::chrono::system_clock::time_point lives_since = created;
  double age_s() const {
    return std::chrono::duration<double>(std::chrono::system_clock::now() - lives_since).count();
  }
  uint64_t commands_started = 0;
  Birth birth;
  History history;
  std::string project_file_digest;  // of request.project_file: "sha256:..."; "" = there is none
  std::vector<std::shared_ptr<Service>> services;  // of request.services, once they were started
  uint32_t service_starts = 0;
  std::shared_ptr<SandboxNetwork> network;  // since it was first asked for
  std::shared_ptr<SignLink> signer;         // while it runs, and a key was granted
  std::function<void(Sandbox&)> on_detach;  // its processes are gone
  std::function<void(Sandbox&)> on_exit;    // a command is about to be told ended
  uint64_t launches = 0;                    // which of its lives this is
  std::shared_ptr<Event> dividing;          // set while a memory group is made for the next command
  std::shared_ptr<Event> turn;              // set while somebody saves, restores, starts or ends it

  State state() const { return state_; }
  const std::string& reason() const { return reason_; }  // why it is what it is
  // Refuses what the table does not allow, and says so.
  Status Transition(State to, std::string reason);
  bool runs() const { return state_ == State::kRunning; }
  bool has_files() const { return runs() || state_ == State::kStopped; }

  asio::io_context& io() { return io_; }
  // Its border and the log of it, made when they are first asked for.
  const std::shared_ptr<SandboxNetwork>& Network();

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
  // What starts next would be in one memory group with somebody: `Commands` asks spawn for another.
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

  State state_ = State::kStarting;
  std::string reason_;
  std::string network_log_;
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
