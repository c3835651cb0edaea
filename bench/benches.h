#pragma once

#include "own_daemon.h"
#include "report.h"

namespace cloche::bench {

struct Options {
  bool quick = false;
  bool full = false;   // also what takes minutes
  bool smoke = false;  // once, on little: whether it works
  int cycles = 300;
  int alive = 1000;

  int Rounds(int usual, int when_quick) const { return smoke ? 1 : quick ? when_quick : usual; }
  int Size(int usual) const { return smoke ? usual / 100 : usual; }
};

// Clone the whole machine, run `true`, destroy, beside what others do.
void BenchStart(OwnDaemon& daemon, const Options& options, Report& report);
// A command in a sandbox that runs already.
void BenchCommand(OwnDaemon& daemon, const Options& options, Report& report);
// A hundred at once, a thousand alive.
void BenchMany(OwnDaemon& daemon, const Options& options, Report& report);
// File-system work inside and outside.
void BenchFiles(OwnDaemon& daemon, const Options& options, Report& report);
// Snapshots, rollbacks and forks, by how much has changed.
void BenchTimeTravel(OwnDaemon& daemon, const Options& options, Report& report);
// The diff of a large tree; the cost of a race.
void BenchDiff(OwnDaemon& daemon, const Options& options, Report& report);
// Promotion of a sandbox's changes.
void BenchPromote(OwnDaemon& daemon, const Options& options, Report& report);
// The way out through cloche-egress.
void BenchEgress(OwnDaemon& daemon, const Options& options, Report& report);
// A copy, a change, a diff, from the command line, beside git worktree and try.
void BenchJob(OwnDaemon& daemon, const Options& options, Report& report);
// The memory of the daemon when little has happened.
void BenchIdle(OwnDaemon& daemon, const Options& options, Report& report);
// The remains after many sandboxes came and went.
void BenchCycles(OwnDaemon& daemon, const Options& options, Report& report);

}  // namespace cloche::bench
