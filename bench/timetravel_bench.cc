#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "benches.h"
#include "floor.h"
#include "program.h"
#include "sandbox.h"

// Saved states: what a client waits for, by how much the sandbox has changed.
namespace cloche::bench {
namespace {

constexpr int kForks = 100;
// At most so many times as long as the bare ioctl, and as so many bwrap.
constexpr double kSnapshotBound = 5, kRollbackBound = 6, kForkBound = 1.5;

// As long as somebody takes to read what a command said: what it changed is on disk by then.
constexpr std::chrono::milliseconds kThought(60);
constexpr double kFlat = 4;  // at most so many times as long, whatever the number of files

struct Waited {
  Series saved, restored;
};

// In a tree that was written inside; before each, one of its files is changed.
Waited Wait(Sandbox& box, int files, int rounds, std::chrono::milliseconds thought) {
  Waited waited;
  int changes = 0;
  const auto change = [&] {
    const int number = static_cast<int>(++changes * 7919L % files);
    box.Run(fmt::format("echo {} > many/d{}/f{}", changes, number / 1000, number % 1000));
    std::this_thread::sleep_for(thought);
  };
  for (int round = 0; round < rounds; ++round) {
    change();
    waited.saved.Add(box.Snapshot());
    change();
    waited.restored.Add(box.Rollback());
  }
  return waited;
}

// The kernel forgets all files of a state that was left: seconds for a million, beside the rest.
void Forgotten(const OwnDaemon& daemon, size_t processes) {
  for (int i = 0; i < 600 && daemon.Processes().size() > processes; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

size_t SteadyProcesses(const OwnDaemon& daemon) {
  size_t seen = 0;
  for (size_t now = daemon.Processes().size(); now != seen; now = daemon.Processes().size()) {
    seen = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  return seen;
}

void Scale(OwnDaemon& daemon, const std::vector<int>& sizes, int rounds, Report& report) {
  Waited smallest;
  for (const int files : sizes) {
    Sandbox box(daemon);
    box.MakeTree("many", files);
    const size_t processes = SteadyProcesses(daemon);
    const auto id = [&](const char* what) { return fmt::format("timetravel.{}-{}", what, files); };
    report.Tell(id("first"),
                fmt::format("first snapshot of {} new files, all of them written down", files),
                fmt::format("{:.1f} ms", box.Snapshot()));
    box.Rollback();
    box.Run("true");
    Forgotten(daemon, processes);
    Waited waited = Wait(box, files, rounds, kThought);
    report.Tell(id("snapshot"), fmt::format("snapshot, one of {} files changed", files),
                waited.saved);
    report.Tell(id("rollback"), fmt::format("rollback, one of {} files changed", files),
                waited.restored);
    if (files == sizes.front()) {
      smallest = std::move(waited);
    } else {
      const std::string peer = fmt::format("of {}", sizes.front());
      report.Compare(id("snapshot-flat"), "  snapshot beside the smallest", waited.saved, peer,
                     smallest.saved, kFlat);
      report.Compare(id("rollback-flat"), "  rollback beside it", waited.restored, peer,
                     smallest.restored, kFlat);
    }
    const Waited at_once = Wait(box, files, rounds, std::chrono::milliseconds(0));
    report.Tell(id("snapshot-at-once"), "  snapshot at once after the command", at_once.saved);
    report.Tell(id("rollback-at-once"), "  rollback at once after it", at_once.restored);
  }
}

// The nearest thing a developer has: another worktree, and the files git does not know copied.
void BesideGit(OwnDaemon& daemon, int rounds, Report& report) {
  if (FindProgram("git").empty() || FindProgram("cp").empty())
    return report.Tell("timetravel.git", "  beside git worktree add and cp",
                       "git is not installed");
  const std::string place = daemon.work() + "/worktrees";
  std::filesystem::create_directories(place);
  const auto shell = [&](const std::string& script) {
    return TimeSpawn({"/bin/sh", "-c", "cd '" + place + "' && " + script});
  };
  MakeTree(place + "/main/many", 5000);
  shell("cd main && git init -q && git add . && git -c user.name=x -c user.email=x commit -qm x");
  MakeTree(place + "/main/extra", 5000);
  Sandbox box(daemon);
  box.Run("cd worktrees/main && echo x > y");
  int number = 0;
  const auto both = Alternate(
      {[&] {
         ++number;
         return shell(fmt::format(
             "cd main && git worktree add -q --detach ../w{0} && cp -a extra ../w{0}/", number));
       },
       [&] { return box.Fork(1); }},
      {.warmup = 1, .rounds = rounds});
  report.Compare("timetravel.git", "fork, the whole machine with 10,000 files of a project",
                 both[1], "git worktree add + cp", both[0]);
  std::filesystem::remove_all(place);
}

// Beside the bare ioctl, without which there is no snapshot, and as many copies by bwrap as forks.
void LittleDirty(OwnDaemon& daemon, const Options& options, Report& report) {
  Sandbox box(daemon);
  const Once snapshot = [&] {
    box.Run("echo changed > one");
    return box.Snapshot();
  };
  const Once rollback = [&] { return box.Rollback(); };
  const Once fork = [&] { return box.Fork(kForks); };
  const Schedule schedule{.warmup = 1, .rounds = options.Rounds(40, 20)};
  const char *saving = "snapshot when little is dirty",
             *restoring = "rollback when little is dirty";
  BareSnapshots bare(daemon);
  if (bare.possible()) {
    const auto all = Alternate({snapshot, rollback, [&] { return bare.Once(); }}, schedule);
    report.CompareBest("timetravel.snapshot", saving, all[0], "bare ioctl", all[2], kSnapshotBound);
    report.CompareBest("timetravel.rollback", restoring, all[1], "bare ioctl", all[2],
                       kRollbackBound);
  } else {
    const auto all = Alternate({snapshot, rollback}, schedule);
    report.Tell("timetravel.snapshot", saving, all[0]);
    report.Tell("timetravel.rollback", restoring, all[1]);
  }
  const std::string forking = fmt::format("fork of {}", kForks);
  const Schedule few{.warmup = 1, .rounds = options.Rounds(5, 3)};
  if (const Argv bwrap = BwrapTrue(); bwrap.empty()) {
    report.Tell("timetravel.fork", forking, Alternate({fork}, few)[0]);
  } else {
    const auto both = Alternate({fork, [&] { return TimeSpawnMany(bwrap, kForks); }}, few);
    report.Compare("timetravel.fork", forking, both[0], fmt::format("{} x bwrap", kForks), both[1],
                   kForkBound);
  }
}

}  // namespace

void BenchTimeTravel(OwnDaemon& daemon, const Options& options, Report& report) {
  LittleDirty(daemon, options, report);
  std::vector<int> sizes = {options.Size(1'000), options.Size(10'000), options.Size(100'000)};
  if (options.full) sizes.push_back(1'000'000);
  Scale(daemon, sizes, options.Rounds(9, 3), report);
  BesideGit(daemon, options.Rounds(9, 3), report);
}

}  // namespace cloche::bench
