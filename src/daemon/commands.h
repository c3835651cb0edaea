#pragma once

#include <memory>
#include <optional>

#include "daemon/flusher.h"
#include "daemon/log_files.h"
#include "daemon/sandbox_table.h"
#include "policy/request.h"

namespace cloche::daemon {

// A command that is started together with its sandbox, in one round trip.
struct FirstCommand {
  CommandRequest request;
  Watcher* watcher = nullptr;
  std::shared_ptr<CommandRun> command;  // set once the sandbox is made
};

// A sandbox serves one agent, and so does its fresh twin.
Status CheckAgent(const Sandbox& sandbox, const CommandRequest& request);

// A command in the form that init takes.
Command ImageOf(const CommandRequest& request, const Sandbox& sandbox);

// Marks the limits on files and bytes that, according to the answer to kRoom or kDiscard, were met.
void MarkFull(const Sandbox& sandbox, uint32_t flags, CommandRun& command);

// The commands of sandboxes: creates them, assigns memory groups, enforces wall time.
class Commands {
 public:
  Commands(asio::io_context& io, LogFiles& logs, Flusher& flusher, Spawn& spawn)
      : io_(io), logs_(logs), flusher_(flusher), spawn_(spawn) {}

  std::shared_ptr<CommandRun> Make(const Sandbox& sandbox, CommandRequest request, Watcher* watcher,
                                   StepTimer steps);
  std::shared_ptr<CommandRun> MakeService(const Sandbox& sandbox, uint32_t number,
                                          CommandRequest request);
  // Gives the next command its own memory group if it would share one.
  Task<void> MakeWay(std::shared_ptr<Sandbox> sandbox);
  void LimitWallTime(const std::shared_ptr<Sandbox>& sandbox,
                     const std::shared_ptr<CommandRun>& command);
  // Marks a failed command that met a limit on files or bytes.
  Task<void> NoteFull(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<CommandRun> command);
  // The space its files take while it runs; nullopt: not counted here.
  Task<std::optional<uint64_t>> DiskBytes(std::shared_ptr<Sandbox> sandbox);

 private:
  asio::io_context& io_;
  LogFiles& logs_;
  Flusher& flusher_;
  Spawn& spawn_;
};

}  // namespace cloche::daemon
