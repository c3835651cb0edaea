#pragma once

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "cli/request.h"
#include "cli/signal_watch.h"
#include "pipeline/health.h"
#include "pipeline/journal.h"
#include "pipeline/reality.h"
#include "pipeline/run.h"

namespace cloche::pipeline {

struct RunnerOptions {
  bool allow_triggers = false;
  bool asks = false;   // somebody is there to say yes
  bool quiet = false;  // nothing about how it goes
};

// How a step, a stage, or the whole went.
enum class Went {
  kOn,         // to what comes next
  kFailed,     // what this stage did is taken back
  kUnhealthy,  // an earlier stage: what it and the later ones did is taken back
  kConflict,   // reality is not what the sandbox saw; nothing was applied
  kWaiting,    // for a yes; the run continues another time
  kCancelled,
  kLeft,  // by a signal; the run continues another time
};

// Runs the stages from wherever the journal says they are.
class Runner {
 public:
  Runner(Journal& journal, Run& run, const Workplace& place, const cli::Surroundings& around,
         const RunnerOptions& options)
      : journal_(journal), run_(run), place_(place), around_(around), options_(options) {}

  Result<Went> Go();
  // Undoes this stage and the later ones, latest first, because their owner asked for it.
  Result<Went> TakeBack(size_t from);
  const std::string& why() const { return why_; }
  int left_status() const { return left_status_; }

 private:
  // runner.cc: the order of things
  Result<Went> RunStages();
  Result<Went> RunStage(size_t stage);
  Result<Went> Settle(size_t stage, Went went);
  Result<Went> RollBack(size_t from, const std::string& why);
  Result<Went> RollBackStages(size_t from);
  Result<Went> RollBackStage(size_t stage);
  Result<Went> WatchToTheEnd();
  Status End(const std::string& how, const std::string& why);
  void ResumeWatches();
  Status WaitForOrphan();

  // runner_steps.cc: the steps of a stage
  Result<Went> Verify(size_t stage);
  Result<Went> Approve(size_t stage);
  Result<Went> AskPerson(size_t stage, const Subject& subject);
  Result<Went> Apply(size_t stage);
  Result<bool> Adopt(size_t stage);  // a promotion that was applied, and not written down
  Result<Went> Check(size_t stage);
  Result<Went> Deploy(size_t stage);
  Status BeginHealth(size_t stage);
  enum class Where { kHost, kSandbox };
  Result<Went> RunAll(size_t stage, const char* step, const std::vector<std::string>& commands,
                      Where where, const std::string& sandbox);
  Result<Went> RunOne(size_t stage, const char* step, Launch launch, Finding& finding);

  // Waits, and watches everything else meanwhile: health, signals, a request to cancel.
  struct Waiting {
    const Child* child = nullptr;  // until it has ended
    std::optional<std::chrono::steady_clock::time_point> until = {};
    bool standard_input = false;  // until there is some
    bool approval = false;        // until the journal has changed it
    bool watches = false;         // until all of them are over
    bool cancellable = true;
  };
  Result<Went> Wait(const Waiting& what);
  Result<bool> LookAtHealth();
  Status Reread();

  Status Note(size_t stage, const char* step, const char* state, const Json& more = Json::object());
  void Say(const std::string& line) const;
  void ShowLog(const Finding& finding) const;

  Journal& journal_;
  Run& run_;
  const Workplace& place_;
  const cli::Surroundings& around_;
  RunnerOptions options_;
  cli::SignalWatch signals_;
  std::list<HealthWatch> watches_;
  size_t unhealthy_ = 0;
  off_t seen_ = 0;
  int left_status_ = 0;
  std::string why_;
};

}  // namespace cloche::pipeline
