#include <fmt/format.h>

#include <optional>

#include "benches.h"
#include "http.h"
#include "program.h"
#include "work.h"

namespace cloche::bench {
namespace {

struct Work {
  const char* name;
  const char* promise;
  const char* needs;
  std::optional<double> bound;
};

constexpr Work kWorks[] = {
    {"small-files", "5,000 small files: make, stat, read, unlink", "sh", 1.1},
    {"untar", "tar | untar of 5,000 files", "tar", 1.1},
    {"compile", "compile a C++ file", "g++", 1.1},
    {"git-status", "git status, 5,000 files", "git", 1.3},
    {"copy", "copy of 100 MB", "cp", {}},
};

}  // namespace

void BenchFiles(OwnDaemon& daemon, const Options& options, Report& report) {
  if (FindProgram("git").empty()) throw std::runtime_error("git is not installed");
  PrepareWork(daemon.work());
  Connection connection(daemon.socket());
  const std::string id = connection.Call("POST", "/v1/sandboxes", daemon.SandboxRequest()).at("id");
  const std::string self = Sibling("cloche-bench");
  for (const Work& work : kWorks) {
    if (FindProgram(work.needs).empty()) {
      report.Tell(work.promise, fmt::format("{} is not installed", work.needs));
      continue;
    }
    const Argv argv = {self, "--work", work.name, daemon.work()};
    const Once outside = [&] { return std::stod(Capture(argv)); };
    const Once inside = [&] {
      const auto result =
          connection.Call("POST", "/v1/sandboxes/" + id + "/commands", {{"argv", argv}});
      if (result.value("exit_status", -1) != 0)
        throw std::runtime_error(fmt::format("{} inside: {}", work.name, result.dump()));
      return std::stod(result.at("stdout").get<std::string>());
    };
    const auto both = Alternate({outside, inside}, {.warmup = 2, .rounds = options.quick ? 5 : 15});
    report.Compare(fmt::format("inside: {}", work.promise), both[1], "outside", both[0], work.bound);
  }
  connection.Call("DELETE", "/v1/sandboxes/" + id);
}

}  // namespace cloche::bench
