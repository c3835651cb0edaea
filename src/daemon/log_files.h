#pragma once

#include <functional>
#include <string>

#include "daemon/command_run.h"
#include "daemon/log_budget.h"

namespace cloche::daemon {

// The output of commands on disk. Logs live as long as their sandbox, those of disposable sandboxes
// for a day.
class LogFiles {
 public:
  explicit LogFiles(std::string directory) : directory_(std::move(directory)) {}
  LogFile For(const std::string& sandbox, uint32_t owner, uint32_t command) const;
  std::string NetworkLog(const std::string& sandbox) const;
  void Ended(uint32_t owner, CommandRun& command);  // its log counts against the budget from now on
  void Remove(const std::string& sandbox);
  void RemoveStale(const std::function<bool(const std::string& sandbox)>& exists);

 private:
  std::string directory_;
  LogBudget budget_;
};

}  // namespace cloche::daemon
