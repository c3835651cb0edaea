#pragma once

#include <chrono>
#include <set>
#include <string>

#include "daemon/sandbox_table.h"

namespace cloche::daemon {

// Saving a state writes all unwritten data to disk. If a sandbox has saved states, its data is
// flushed when a command ends, so that a later save pays only its own cost.
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
  std::set<std::string> waiting_;  // have saved states, and a command has ended since
  bool flushing_ = false;
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace cloche::daemon
