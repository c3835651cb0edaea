#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/client.h"
#include "daemon/log_files.h"
#include "daemon/machine.h"
#include "daemon/registry.h"
#include "daemon/sandbox.h"

namespace cloche::daemon {

using Sandboxes = std::vector<std::shared_ptr<Sandbox>>;

std::string NewId(const char* prefix);

// A sandbox whose record cannot be read can only be shown and removed.
Status CheckReadable(const Sandbox& sandbox);

// Kept sandboxes do not end by default: only a requested life ends them.
void LiveOn(SandboxRequest& request);

// All sandboxes; those that are kept are also rows in the registry.
class SandboxTable {
 public:
  SandboxTable(asio::io_context& io, Machine& machine, Registry& registry, LogFiles& logs)
      : io_(io), machine_(machine), registry_(registry), logs_(logs) {}

  SandboxEvents events;  // for all sandboxes; set before the first is made

  using Map = std::map<std::string, std::shared_ptr<Sandbox>>;
  const Map& all() const { return sandboxes_; }
  bool Contains(const std::string& id) const { return sandboxes_.contains(id); }
  Result<std::shared_ptr<Sandbox>> Find(const std::string& ref, const Client& client) const;
  // Includes one whose record cannot be read.
  Result<std::shared_ptr<Sandbox>> FindAny(const std::string& ref, const Client& client) const;
  Sandboxes List(const Client& client) const;       // oldest first
  Json UnreadableJson(const Client& client) const;  // [{id, name, reason, remove: a command}]

  Status CheckNewNames(const std::vector<std::string>& names, size_t count,
                       const Client& client) const;
  // Does not add it to the table.
  std::shared_ptr<Sandbox> Make(const std::string& id, uint32_t owner, Beginning beginning);
  void Add(std::shared_ptr<Sandbox> sandbox);
  void Erase(const std::string& id) { sandboxes_.erase(id); }

  Status Save(const Sandbox& sandbox);
  Registry::Row RowOf(const Sandbox& sandbox) const;
  // The row as it will be once something has happened.
  Registry::Row RowOf(const Sandbox& sandbox, Sandbox::State state, const std::string& reason,
                      const History& history) const;
  Registry& registry() { return registry_; }
  // Removes it for good. If the disk is full, RemoveAgain retries.
  void RemoveRow(const std::string& id);
  void RemoveAgain();
  void ObserveClock();  // often: a clock set back and forward again goes unnoticed

  // Loads what an earlier daemon left; sets unreadable records aside. Returns the ids of sandboxes
  // that were being made or removed.
  Result<std::vector<std::string>> Load();

 private:
  static bool HasRecord(const Sandbox& sandbox);
  Result<std::shared_ptr<Sandbox>> ReadRow(const Registry::Row& row);
  std::shared_ptr<Sandbox> SetAside(const Registry::Row& row, const std::string& why);

  asio::io_context& io_;
  Machine& machine_;
  Registry& registry_;
  LogFiles& logs_;
  Map sandboxes_;
  std::vector<std::string> unforgotten_;  // removed, but the full disk still has their rows
};

// Removes what a crash or failure left half-made or half-removed.
Task<void> RemoveRest(Spawn& spawn, SandboxTable& table, std::string id);

}  // namespace cloche::daemon
