#pragma once

#include <deque>
#include <memory>

#include "daemon/change_reader.h"

namespace cloche::daemon {

// Whether the project is more specific than the whole machine or home directory.
bool HasProject(const SandboxRequest& request);

// File times stand still between two ticks of the kernel's clock. Returns once later changes are
// dated after `moment_ns`; changes before that moment are not.
Task<void> PassTick(asio::io_context& io, int64_t moment_ns);

// Records what git knows about a project, and which files it has, when a sandbox is made: the base
// of later merges. Only promotions wait for it. If it cannot be recorded, merges become conflicts,
// and files that reality deletes look as if they had never existed.
class BirthNotes {
 public:
  BirthNotes(asio::io_context& io, SandboxTable& table, ChangeReader& reader)
      : io_(io), table_(table), reader_(reader) {}
  void Take(const std::shared_ptr<Sandbox>& sandbox, const Client& client);

 private:
  struct Wanted {
    std::weak_ptr<Sandbox> sandbox;
    sys::PeerIdentity peer;
    sys::Fd socket;
    std::shared_ptr<Event> taken;
  };
  Task<void> TakeAll();
  void Keep(const Sandbox& sandbox, const Json& note);

  asio::io_context& io_;
  SandboxTable& table_;
  ChangeReader& reader_;
  std::deque<Wanted> wanted_;  // the first is being taken
};

}  // namespace cloche::daemon
