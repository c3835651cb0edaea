#include <fmt/core.h>

#include "benches.h"
#include "host_state.h"
#include "program.h"

namespace cloche::bench {
namespace {

constexpr long kGrowthKib = 1024;  // an allocator's slack, over any number of cycles

long SumResident(const OwnDaemon& daemon) {
  long sum = 0;
  for (const pid_t pid : Services(daemon)) sum += ResidentKib(pid);
  return sum;
}

}  // namespace

void BenchIdle(OwnDaemon& daemon, const Options& options, Report& report) {
  SettledState(daemon, options.smoke);
  report.Limit("idle.memory", "daemon idle: cloched's resident memory",
               static_cast<double>(ResidentKib(daemon.pid())) / 1024, "MiB", 20);
  report.Tell("idle.all", "  with cloche-spawn and its keeper",
              fmt::format("{:.2f} MiB", static_cast<double>(SumResident(daemon)) / 1024));
}

void BenchCycles(OwnDaemon& daemon, const Options& options, Report& report) {
  const Argv run = {daemon.cloche(), "run", "--", FindProgram("true")};
  for (int i = 0; i < 50; ++i) TimeSpawn(run);
  const HostState before = SettledState(daemon, options.smoke);
  const long resident = SumResident(daemon);
  report.Limit("cycles.memory", "daemon idle again, after all of the above: cloched",
               static_cast<double>(ResidentKib(daemon.pid())) / 1024, "MiB", 20);

  const int cycles = std::min(options.cycles, options.Rounds(options.cycles, 100));
  const Stopwatch watch;
  for (int i = 0; i < cycles; ++i) TimeSpawn(run);
  const double ms = watch.Ms();
  const HostState after = SettledState(daemon, options.smoke, before);
  const long growth = SumResident(daemon) - resident;

  std::string differences;
  nlohmann::ordered_json numbers = nlohmann::ordered_json::object();
  for (const auto& [what, count] : after) {
    const long then = before.contains(what) ? before.at(what) : 0;
    numbers[what] = {then, count};
    if (then != count)
      differences +=
          fmt::format("{}{} {} -> {}", differences.empty() ? "" : ", ", what, then, count);
  }
  if (growth > kGrowthKib)
    differences += fmt::format("{}memory +{} KiB", differences.empty() ? "" : ", ", growth);
  Row row{.id = "cycles.state",
          .promise = fmt::format("{} create/destroy cycles: host state", cycles)};
  row.measured =
      differences.empty() ? fmt::format("{} counts the same", after.size()) : differences;
  row.promised = "identical";
  row.verdict = differences.empty() ? Verdict::kOk : Verdict::kMissed;
  row.numbers = std::move(numbers);
  report.Add(std::move(row));
  report.Tell("cycles.growth", "  resident memory after them", fmt::format("{:+} KiB", growth));
  report.Tell("cycles.one", "  one cycle", fmt::format("{:.2f} ms on average", ms / cycles));
}

}  // namespace cloche::bench
