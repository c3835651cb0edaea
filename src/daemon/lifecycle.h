#pragma once

#include <memory>
#include <set>
#include <string>

#include "daemon/birth_notes.h"
#include "daemon/change_reader.h"
#include "daemon/launcher.h"
#include "daemon/time_travel.h"

namespace cloche::daemon {

// The life cycle of all sandboxes: making, using, stopping, ending and removing them.
class Lifecycle {
 public:
  // The parts it coordinates.
  struct Parts {
    Machine& machine;
    SandboxTable& table;
    Spawn& spawn;
    LogFiles& logs;
    Secrets& secrets;
    NetworkGrants& networks;
    Commands& commands;
    Launcher& launcher;
    TimeTravel& time_travel;
    ChangeReader& reader;
    BirthNotes& births;
  };
  Lifecycle(asio::io_context& io, Parts parts) : io_(io), parts_(parts) {}

  Task<Result<std::shared_ptr<Sandbox>>> Create(SandboxRequest request, bool keep, Client client,
                                                StepTimer* steps = nullptr,
                                                FirstCommand* first = nullptr);
  Task<Result<std::shared_ptr<CommandRun>>> Start(std::shared_ptr<Sandbox> sandbox,
                                                  CommandRequest request, Client client,
                                                  Watcher* watcher = nullptr, StepTimer steps = {});
  // Starts the sandbox and its services if it is stopped, and waits for them.
  Task<Status> Wake(std::shared_ptr<Sandbox> sandbox, Client client);
  Task<Status> Stop(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended = false);
  void StopLater(std::shared_ptr<Sandbox> sandbox, std::string reason);
  // It has met the named limit: kills whatever runs in it.
  void EndLater(const std::string& id, const char* limit, const std::string& reason);
  // Kills it, counts changes if its last command wants to know, removes its files and its row.
  Task<Result<Json>> Discard(std::shared_ptr<Sandbox> sandbox,
                             std::shared_ptr<CommandRun> command = nullptr);
  Task<Result<Json>> Refresh(std::shared_ptr<Sandbox> sandbox, Client client);
  Task<Result<Json>> Explain(SandboxRequest request, Client client);

  void InitExited(const SpawnReply& event);
  void SpawnLost();
  void Close();  // records what is about to be ended
  bool spawn_lost() const { return spawn_lost_; }
  bool closed() const { return closed_; }  // no new requests; the next daemon takes them

 private:
  Status Prepare(SandboxRequest& request, bool keep, const Client& client);
  Status CheckMayRun(Sandbox& sandbox, const CommandRequest& request);
  static void TellOfServices(const Sandbox& sandbox, CommandRun& command);
  void StopOnce(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended);

  asio::io_context& io_;
  Parts parts_;
  std::set<std::string> to_be_stopped_;  // ids waiting for their turn
  bool spawn_lost_ = false;
  bool closed_ = false;
};

}  // namespace cloche::daemon
