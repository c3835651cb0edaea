#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/child.h"
#include "pipeline/journal.h"
#include "pipeline/run.h"

namespace cloche::pipeline {

using WallClock = std::chrono::system_clock;

// How a command of the stages is started, and where.
struct Workplace {
  std::string program;  // cloche itself
  std::string project;
  std::string home;
};
Launch OnHost(const Workplace& place, const std::string& command);
Launch InSandbox(const Workplace& place, const std::string& sandbox, const std::string& command);
Launch InFreshSandbox(const Workplace& place, const std::string& command);

struct Finding {
  std::string command;
  int status = 0;
  double seconds = 0;
  std::string log;  // its name
};
Json ToJson(const Finding& finding);

// Runs the health commands of one stage again and again until their time is over. Callers that wait
// for something else meanwhile poll it.
class HealthWatch {
 public:
  HealthWatch(size_t stage, const project::Stage& what, WallClock::time_point until,
              const Workplace& place, const Journal& journal)
      : stage_(stage), what_(what), until_(until), place_(place), journal_(journal) {}

  size_t stage() const { return stage_; }
  std::optional<pollfd> Interest() const;
  // Starts and ends commands that are due. True: something is wrong.
  Result<bool> Look();
  bool over() const { return over_; }
  size_t rounds() const { return rounds_; }
  const Finding& finding() const { return finding_; }

 private:
  Status StartNext();

  size_t stage_;
  const project::Stage& what_;
  WallClock::time_point until_;
  const Workplace& place_;
  const Journal& journal_;
  std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point began_{};
  std::optional<Child> child_;
  size_t next_ = 0;  // of its commands
  size_t rounds_ = 0;
  bool over_ = false;
  Finding finding_;
};

}  // namespace cloche::pipeline
