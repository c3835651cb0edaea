#include "benches.h"
#include "http.h"
#include "program.h"

namespace cloche::bench {

void BenchCommand(OwnDaemon& daemon, const Options& options, Report& report) {
  const std::string command = FindProgram("true");
  Connection connection(daemon.socket());
  const std::string id = connection.Call("POST", "/v1/sandboxes", daemon.SandboxRequest()).at("id");
  const std::string target = "/v1/sandboxes/" + id;
  const nlohmann::json body = {{"argv", {command}}};

  const Once fork = [&] { return TimeFork({command}); };
  const Once spawn = [&] { return TimeSpawn({command}); };
  const Once http = [&] {
    const Stopwatch watch;
    const auto result = connection.Call("POST", target + "/commands", body);
    const double ms = watch.Ms();
    if (result.value("exit_status", -1) != 0)
      throw std::runtime_error("run true: " + result.dump());
    return ms;
  };
  const Once cli = [&] { return TimeSpawn({daemon.cloche(), "exec", id, "--", command}); };

  Schedule schedule{.warmup = 5, .rounds = options.Rounds(300, 50)};
  const auto rush = Alternate({fork, http, cli, spawn}, schedule);
  report.Compare("command.connection", "command in a running sandbox: open connection", rush[1],
                 "fork+exec", rush[0], 1.3);
  report.Compare("command.cli", "command in a running sandbox: cloche exec", rush[2], "fork+exec",
                 rush[0], 2.5);
  report.Compare("command.connection-vfork", "  open connection beside posix_spawn (vfork)",
                 rush[1], "posix_spawn", rush[3]);
  report.Compare("command.cli-vfork", "  cloche exec beside posix_spawn (vfork)", rush[2],
                 "posix_spawn", rush[3]);
  connection.Call("DELETE", target);
}

}  // namespace cloche::bench
