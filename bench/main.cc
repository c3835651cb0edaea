// cloche-bench: the promised numbers, measured beside what others do. Timing never makes it fail;
// it says MISSED and exits 0. It fails when something did not work.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "benches.h"
#include "net_work.h"
#include "work.h"

namespace cloche::bench {
namespace {

struct Bench {
  const char* name;
  void (*run)(OwnDaemon&, const Options&, Report&);
};

constexpr Bench kBenches[] = {
    {"idle", BenchIdle}, {"start", BenchStart},     {"command", BenchCommand},
    {"many", BenchMany}, {"files", BenchFiles},     {"timetravel", BenchTimeTravel},
    {"diff", BenchDiff}, {"promote", BenchPromote}, {"egress", BenchEgress},
    {"job", BenchJob},   {"cycles", BenchCycles}};

// Rootless sandboxes have an empty /tmp of their own, so the work has to be below the home.
std::string MakeRoot() {
  const char* home = getenv("HOME");
  std::string path = geteuid() == 0 || !home ? "/tmp" : home;
  path += "/.cloche-bench.XXXXXX";
  if (!mkdtemp(path.data())) throw std::runtime_error("make " + path);
  return path;
}

// True when all that was tried worked.
bool RunBenches(const Options& options, const std::vector<std::string>& only, Report& report) {
  OwnDaemon daemon(MakeRoot());
  daemon.Start();
  bool worked = true;
  for (const Bench& bench : kBenches) {
    if (!only.empty() && std::ranges::find(only, bench.name) == only.end()) continue;
    fmt::print(stderr, "cloche-bench: {} ...\n", bench.name);
    sync();  // what the part before has written is not this one's to write down
    try {
      bench.run(daemon, options, report);
    } catch (const std::exception& error) {
      fmt::print(stderr, "cloche-bench: {}: {}\n", bench.name, error.what());
      report.Add({.id = bench.name,
                  .promise = bench.name,
                  .measured = "did not work",
                  .verdict = Verdict::kMissed});
      worked = false;
    }
    if (daemon.Runs()) continue;
    // The parts that follow need not pay for it, but it is a failure: nobody told it to go.
    fmt::print(stderr, "cloche-bench: the daemon was gone after {}:\n{}\n", bench.name,
               daemon.WhyGone());
    report.Add({.id = "daemon",
                .promise = "the daemon lives",
                .measured = "gone",
                .verdict = Verdict::kMissed});
    worked = false;
    daemon.Start();
  }
  return worked;
}

}  // namespace
}  // namespace cloche::bench

int main(int argc, char** argv) {
  using namespace cloche::bench;
  Options options;
  bool json = false;
  std::vector<std::string> only, work, net;
  CLI::App app("Measures what SPEC.md promises, in one run beside bwrap and others.",
               "cloche-bench");
  app.add_flag("--quick", options.quick, "fewer rounds: a minute less exact");
  CLI::Option* smoke =
      app.add_flag("--smoke", options.smoke,
                   "each part once, on little: tells whether all of them work, and no numbers");
  app.add_flag("--json", json, "print an array instead of the table")->excludes(smoke);
  app.add_option("--cycles", options.cycles, "create/destroy cycles (the promise is for 10000)")
      ->check(CLI::PositiveNumber);
  app.add_option("--alive", options.alive, "sandboxes alive at once")->check(CLI::PositiveNumber);
  app.add_option(
         "--only", only,
         "only these parts: idle, start, command, many, files, timetravel, diff, promote, egress, "
         "job, cycles")
      ->delimiter(',')
      ->check(CLI::IsMember({"idle", "start", "command", "many", "files", "timetravel", "diff",
                             "promote", "egress", "job", "cycles"}));
  app.add_flag("--full", options.full,
               "trees of 1,000,000 files, and snapshots of as many: minutes")
      ->excludes(smoke);
  // By ourselves, inside and outside.
  app.add_option("--work", work, "")->expected(2)->group("");
  app.add_option("--net", net, "")->expected(4, 5)->group("");
  CLI11_PARSE(app, argc, argv);
  options.quick = options.quick || options.smoke;
  try {
    if (!work.empty()) {
      fmt::print("{}\n", DoWork(work[0], work[1]));
      return 0;
    }
    if (!net.empty()) {
      fmt::print("{}\n", DoNetWork(net));
      return 0;
    }
    Report report;
    const bool worked = RunBenches(options, only, report);
    if (options.smoke)
      fmt::print("{}\n", worked ? "every part works" : "not every part works");
    else
      fmt::print("{}", json ? report.ToJson().dump(2) + "\n" : report.Table());
    return worked ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cloche-bench: {}\n", error.what());
    return 1;
  }
}
