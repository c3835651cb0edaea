#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/client.h"

namespace cloche::cli {

struct StreamOptions {
  bool pty = false;          // the command has a terminal: resizes are told, signals are keys
  bool read_stdin = false;   // ours is relayed
  bool capture = false;      // output is collected instead of written
  bool escalate = false;     // repeated Ctrl-C ends a command that does not care
  bool quiet = false;        // no notices
  bool follow_only = false;  // watch: signals end us, not the command
};

struct StreamOutcome {
  Json result;                     // the last frame; null when we left early
  std::optional<int> left_status;  // why we left: 130 Ctrl-C, 141 nobody reads, 129 hangup
  std::string captured_stdout;
  std::string captured_stderr;
  double first_frame_ms = 0;
};

// Relays until the result arrives and all output is written. One loop, no threads.
Result<StreamOutcome> Relay(Upgraded connection, const StreamOptions& options);

}  // namespace cloche::cli
