#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/birth.h"
#include "daemon/border_links.h"
#include "daemon/command_list.h"
#include "daemon/denial_log.h"
#include "daemon/history.h"
#include "daemon/init_link.h"
#include "daemon/netlink_supply.h"
#include "daemon/resource_watch.h"
#include "daemon/service.h"
#include "daemon/spawn.h"
#include "daemon/terms.h"
#include "sys/dead_ends.h"

namespace cloche::daemon {

class Sandbox;

// A sandbox's reports to the parts of the daemon above it.
struct SandboxEvents {
  std::function<void(Sandbox&)> on_detach;  // its processes are gone
  std::function<void(Sandbox&)> on_exit;    // a command is about to be reported as ended
  std::function<void(const Sandbox&, const FatalLimit&)> on_limit;  // it must be killed
};

// Everything known about a sandbox when it is made, forked, or read from its record.
struct Beginning {
  Terms terms;
  Lifetime lifetime;
  Birth birth;
  History history;
  uint64_t commands_started = 0;
};

// One sandbox: its state and its parts.
class Sandbox : public std::enable_shared_from_this<Sandbox> {
 public:
  // See the table of transitions in ARCHITECTURE.md.
  enum class State {
    kStarting,    // its processes or files are being made
    kRunning,     // it has processes
    kStopped,     // it has files, and can be started
    kEnded,       // it has files but met a limit: nothing runs in it any more
    kGoing,       // it is being removed
    kUnreadable,  // its record cannot be read: it is only shown and can be removed
  };

  Sandbox(asio::io_context& io, std::string id_in, uint32_t owner_in, Beginning beginning,
          std::string network_log, const SandboxEvents& events);

  const std::string id;
  const uint32_t owner;

  State state() const { return state_; }
  const std::string& reason() const { return reason_; }  // for the last transition
  // Refuses a transition that the table does not allow, and reports it.
  Status Transition(State to, std::string reason);
  bool runs() const { return state_ == State::kRunning; }
  bool has_files() const { return runs() || state_ == State::kStopped; }

  // Takes over the fds of a successful launch.
  void Attach(SpawnAnswer answer, const sys::CgroupHost& cgroups);
  void Detach(const std::string& why);     // its init is gone
  uint64_t life() const { return life_; }  // how often it was attached
  // While one is held, spawn has been asked to end the sandbox, so init's end is expected.
  class Stopping {
   public:
    explicit Stopping(Sandbox& sandbox) : sandbox_(sandbox) { sandbox_.stopping_ = true; }
    ~Stopping() { sandbox_.stopping_ = false; }
    Stopping(const Stopping&) = delete;
    Stopping& operator=(const Stopping&) = delete;

   private:
    Sandbox& sandbox_;
  };
  bool stopping() const { return stopping_; }

  // Sends the command to init; its results arrive in the command.
  Status Start(const std::shared_ptr<CommandRun>& command, const Command& image);
  void Adopt(const std::shared_ptr<CommandRun>& command);  // spawn has already started it
  void Signal(uint32_t command, int signal);
  void KillAll();
  // A decoy was on its way out, which is a violation.
  void RecordCanary(const std::string& canary, const std::string& form,
                    const std::string& destination);

  // Its parts.
  Terms& terms() { return terms_; }
  const Terms& terms() const { return terms_; }
  const Lifetime& lifetime() const { return lifetime_; }
  Birth& birth() { return birth_; }
  const Birth& birth() const { return birth_; }
  History& history() { return history_; }
  const History& history() const { return history_; }
  const CommandList& commands() const { return commands_; }
  ServiceList& services() { return services_; }
  const ServiceList& services() const { return services_; }
  InitLink& init() { return init_; }
  ResourceWatch& resources() { return resources_; }
  const ResourceWatch& resources() const { return resources_; }
  const DenialLog& denials() const { return denials_; }
  BorderLinks& border() { return border_; }
  const BorderLinks& border() const { return border_; }
  Gate& turn() { return turn_; }  // closed while it is saved, restored, started or ended
  // Details of the last launch.
  struct Launched {
    int init_pid = 0;
    uint32_t uid_base = 0;
    bool apparmor = false;
  };
  const Launched& launched() const { return launched_; }

 private:
  void Handle(const InitMessage& message, std::vector<sys::Fd> fds);
  void HandleExit(CommandRun& command, const InitMessage& message);
  Task<void> ReadDenials(std::shared_ptr<Sandbox> self);
  void TellOfDeadEnds(CommandRun& command);

  asio::io_context& io_;
  const SandboxEvents& events_;
  State state_ = State::kStarting;
  std::string reason_;
  uint64_t life_ = 0;
  bool stopping_ = false;
  Launched launched_;
  Terms terms_;
  const Lifetime lifetime_;
  Birth birth_;
  History history_;
  CommandList commands_;
  ServiceList services_;
  InitLink init_;
  ResourceWatch resources_;
  DenialLog denials_;
  BorderLinks border_;
  Gate turn_;
  asio::posix::stream_descriptor listener_;  // for calls that are denied or supplied
  std::shared_ptr<NetlinkSupply> netlink_;   // while it runs
  sys::DeadEnds dead_ends_;                  // as last reported to its commands
};

}  // namespace cloche::daemon
