#pragma once

#include <chrono>
#include <set>
#include <string>

#include "daemon/sandbox_table.h"

namespace cloche::daemon {

// A saved state is on disk, with all that was not yet. Where states are saved, that is written when
// a command has ended: who saves a moment later waits for his save alone, whatever was changed.
class Flusher {
 public:
  Flusher(asio::io_context& io, Machine& machine, SandboxTable& table, Spawn& spawn)
      : io_(io), machine_(machine), table_(table), spawn_(spawn) {}
  void CommandEnded(const std::string& sandbox);
  void Saved(const std::string& sandbox) { waiting_.erase(sandbox); }

 private:
  Task<void> Flush();

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  Spawn& spawn_;
  std::set<std::string> waiting_;  // saved before, and a command has ended since
  bool flushing_ = false;
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace cloche::daemon
