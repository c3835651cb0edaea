#include <fmt/format.h>

#include <filesystem>

#include "benches.h"
#include "program.h"
#include "sandbox.h"

// Saved states: what a client waits for, by how much the sandbox has changed.
namespace cloche::bench {
namespace {

constexpr int kForks = 100;

void Scale(OwnDaemon& daemon, int files, int rounds, Report& report) {
  Sandbox box(daemon);
  box.MakeTree("many", files);
  box.Snapshot();  // what was dirty is on disk after this one
  Series saved, restored;
  for (int round = 0; round < rounds; ++round) {
    box.Run("echo changed > one");
    saved.Add(box.Snapshot());
    box.Run("echo more > two");
    restored.Add(box.Rollback());
  }
  report.Tell(fmt::format("snapshot, running, {} changed files", files), saved);
  report.Tell(fmt::format("rollback, running, {} changed files", files), restored);
}

// The nearest thing a developer has: another worktree, and the files git does not know copied.
void BesideGit(OwnDaemon& daemon, int rounds, Report& report) {
  if (FindProgram("git").empty() || FindProgram("cp").empty())
    return report.Tell("  beside git worktree add and cp", "git is not installed");
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
  report.Compare("fork, the whole machine with 10,000 files of a project", both[1],
                 "git worktree add + cp", both[0]);
  std::filesystem::remove_all(place);
}

}  // namespace

void BenchTimeTravel(OwnDaemon& daemon, const Options& options, Report& report) {
  const int rounds = options.Rounds(20, 5);
  {
    Sandbox box(daemon);
    Series saved, restored;
    for (int round = 0; round < rounds; ++round) {
      box.Run("echo changed > one");
      saved.Add(box.Snapshot());
      restored.Add(box.Rollback());
    }
    report.Limit("snapshot when little is dirty", saved.Median(), "ms", 5);
    report.Tell("  all of them", saved);
    report.Limit("rollback when little is dirty", restored.Median(), "ms", 5);
    report.Tell("  all of them", restored);
    Series forked;
    for (int round = 0; round < options.Rounds(3, 1); ++round) forked.Add(box.Fork(kForks));
    report.Limit(fmt::format("fork of {}", kForks), forked.Median(), "ms", 1000);
  }
  for (const int files : {1'000, 100'000}) Scale(daemon, options.Size(files), rounds, report);
  if (options.full) Scale(daemon, 1'000'000, rounds, report);
  BesideGit(daemon, options.Rounds(9, 3), report);
}

}  // namespace cloche::bench
