#pragma once

#include <span>

namespace cloche::cli {

using Arguments = std::span<char* const>;  // what follows the command's name

// Each returns the exit status of the process; docs/exit-codes.md lists them.
int Run(Arguments arguments);
int New(Arguments arguments);
int Exec(Arguments arguments);
int Shell(Arguments arguments);
int Ls(Arguments arguments);
int Show(Arguments arguments);
int Inspect(Arguments arguments);
int Stats(Arguments arguments);
int Logs(Arguments arguments);
int Start(Arguments arguments);
int Stop(Arguments arguments);
int Rename(Arguments arguments);
int Rm(Arguments arguments);
int Prune(Arguments arguments);
int Net(Arguments arguments);
int Port(Arguments arguments);
int Secret(Arguments arguments);
int Sign(Arguments arguments);
int Services(Arguments arguments);
int TakeSnapshot(Arguments arguments);
int Snapshots(Arguments arguments);
int Rollback(Arguments arguments);
int UndoCommand(Arguments arguments);
int Fork(Arguments arguments);
int Diff(Arguments arguments);
int Promote(Arguments arguments);
int Promotions(Arguments arguments);
int Undo(Arguments arguments);
int Pipeline(Arguments arguments);
int Race(Arguments arguments);
int Refresh(Arguments arguments);
int Explain(Arguments arguments);
int Doctor(Arguments arguments);
int Probe(Arguments arguments);
int ShowStatus(Arguments arguments);

}  // namespace cloche::cli
