#pragma once

#include <deque>
#include <memory>

#include "daemon/change_reader.h"

namespace cloche::daemon {

// Something of its own that promotions will be about, and not the whole machine or home.
bool HasProject(const SandboxRequest& request);

// File times stand still between two ticks of the kernel's clock. Whatever is changed after this is
// dated later than `moment_ns`, and whatever was changed before that moment is not.
Task<void> PassTick(asio::io_context& io, int64_t moment_ns);

// What git knows of a project when a sandbox is made, and which files it has: the base of later
// merges. Only promotions wait for it. Where it cannot be taken there is a conflict in the place of
// a merge, and what reality deletes looks as if it had never been.
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
