#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/frames.h"
#include "base/result.h"
#include "cli/request.h"
#include "policy/limits.h"
#include "race/result.h"
#include "sys/fd.h"

namespace cloche::cli {

// Requests of a race to the daemon.

// The limits that belong to a sandbox. Time and output belong to each command.
Limits OfSandbox(Limits limits);

Result<std::string> ForkForLane(const std::string& base, const std::string& name,
                                const Limits& limits);  // the new sandbox's id

// The files a lane changed since it was forked from `base`, without caches and the like
// (docs/formats/changes.md).
Result<race::Changes> FetchChanges(const std::string& lane, const std::string& base);

uint64_t CountViolations(const std::string& sandbox);

// The sandboxes of one race. All that are not kept are removed with it. If we are killed, a second
// process of ours removes them.
class RaceSandboxes {
 public:
  RaceSandboxes() = default;
  RaceSandboxes(const RaceSandboxes&) = delete;
  RaceSandboxes& operator=(const RaceSandboxes&) = delete;
  ~RaceSandboxes();
  void Add(const std::string& id);
  void Keep(const std::string& id);
  void RemoveAll();

 private:
  void StartGuard();
  void TellGuard(char what, const std::string& id) const;
  [[noreturn]] void Guard(int input);

  std::vector<std::string> ids_;
  sys::Fd guard_;
  pid_t guard_pid_ = 0;
};

// Ends everything that runs in it. It may have ended already.
void StopSandbox(const std::string& id);

// A command of a lane, read without waiting.
class LaneCommand {
 public:
  static Result<LaneCommand> Start(const std::string& sandbox, const Body& body);
  int fd() const { return socket_.get(); }
  void Receive();  // when it can be read
  bool ended() const { return ended_; }
  bool lost() const { return lost_; }  // the daemon went away meanwhile
  race::Step Outcome(race::StepKind kind, const std::string& text) const;
  const std::string& printed() const { return stdout_; }  // the end of it

 private:
  void TakeFrames();

  sys::Fd socket_;
  FrameReader frames_;
  std::string tail_;
  std::string stdout_;
  std::string result_;
  bool ended_ = false;
  bool lost_ = false;
};

}  // namespace cloche::cli
