#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "daemon/command_run.h"

namespace cloche::daemon {

// The commands of one sandbox, including services: all that run, and the last that ran.
class CommandList {
 public:
  using Map = std::map<uint32_t, std::shared_ptr<CommandRun>>;
  using Clock = std::chrono::steady_clock;
  explicit CommandList(uint64_t started) : started_(started) {}

  const Map& all() const { return commands_; }
  std::shared_ptr<CommandRun> Find(uint32_t number) const;            // null if there is none
  std::shared_ptr<CommandRun> Find(const std::string& number) const;  // likewise
  // These two do not count services.
  size_t running() const;
  uint64_t started() const { return started_; }  // in total
  Clock::time_point last_activity() const { return last_activity_; }

  void Add(std::shared_ptr<CommandRun> command);
  void NoteActivity() { last_activity_ = Clock::now(); }
  void Tell(const Json& notice) const;  // to running commands
  void Lose(const std::string& why);    // the sandbox has gone

 private:
  Map commands_;
  uint64_t started_;
  Clock::time_point last_activity_ = Clock::now();
};

}  // namespace cloche::daemon
