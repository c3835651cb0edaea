#pragma once

#include <memory>
#include <optional>

#include "daemon/flusher.h"
#include "daemon/log_files.h"
#include "daemon/sandbox_table.h"
#include "policy/request.h"

namespace cloche::daemon {

// A command that is started with its sandbox, in one round trip.
struct FirstCommand {
  CommandRequest request;
  Watcher* watcher = nullptr;
  std::shared_ptr<CommandRun> command;  // set when the sandbox was made
};

// A sandbox serves one agent, and so does a fresh twin of it.
Status CheckAgent(const Sandbox& sandbox, const CommandRequest& request);

// A command as init takes it.
Command ImageOf(const CommandRequest& request, const Sandbox& sandbox);

// Marks the limits of files and bytes that the answer to kRoom or kDiscard says were met.
void MarkFull(const Sandbox& sandbox, uint32_t flags, CommandRun& command);

// Commands of sandboxes: made, put into a memory group, ended by the clock.
class Commands {
 public:
  Commands(asio::io_context& io, LogFiles& logs, Flusher& flusher, Spawn& spawn)
      : io_(io), logs_(logs), flusher_(flusher), spawn_(spawn) {}

  std::shared_ptr<CommandRun> Make(const Sandbox& sandbox, CommandRequest request, Watcher* watcher,
                                   StepTimer steps);
  std::shared_ptr<CommandRun> MakeService(const Sandbox& sandbox, uint32_t number,
                                          CommandRequest request);
  // What starts next gets a memory group of its own, if it would share one.
  Task<void> MakeWay(std::shared_ptr<Sandbox> sandbox);
  void LimitWallTime(const std::shared_ptr<Sandbox>& sandbox,
                     const std::shared_ptr<CommandRun>& command);
  // Whether a command that failed met a limit of files or bytes.
  Task<void> NoteFull(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<CommandRun> command);
  // What the files of one that runs take; nullopt: nobody counts them here.
  Task<std::optional<uint64_t>> DiskBytes(std::shared_ptr<Sandbox> sandbox);

 private:
  asio::io_context& io_;
  LogFiles& logs_;
  Flusher& flusher_;
  Spawn& spawn_;
};

}  // namespace cloche::daemon
