#include <fmt/format.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "benches.h"
#include "program.h"
#include "sandbox.h"

// What a sandbox changed, in a large tree; and what a race costs over its commands.
namespace cloche::bench {
namespace {

constexpr int kChanges = 100;

void LargeTree(OwnDaemon& daemon, int files, const Options& options, Report& report) {
  const std::string place = daemon.work() + "/tree";
  MakeTree(place, files);
  const bool git = !FindProgram("git").empty();
  if (git)
    TimeSpawn({"/bin/sh", "-c",
               "cd '" + place +
                   "' && git init -q && git add . && git -c user.name=x -c "
                   "user.email=x commit -qm x"});
  {
    Sandbox box(daemon);
    box.Run(fmt::format("cd tree && for i in $(seq {}); do echo changed > d$((i % {}))/f$i; done",
                        kChanges, files / 1000));
    const Schedule schedule{.warmup = 2, .rounds = options.quick ? 5 : 20};
    const std::string promise = fmt::format("diff of {} changes in {} files", kChanges, files);
    if (git) {
      const auto both =
          Alternate({[&] { return box.Diff(); },
                     [&] {
                       return TimeSpawn({"/bin/sh", "-c", "cd '" + place + "' && git status"});
                     }},
                    schedule);
      report.Limit(promise, both[0].Median(), "ms", 20);
      // Ours does not grow with the tree: the promise is for a large one.
      report.Compare("  beside git status", both[0], "git status", both[1],
                     options.full ? std::optional(0.05) : std::nullopt);
    } else {
      report.Limit(promise, Alternate({[&] { return box.Diff(); }}, schedule)[0].Median(), "ms",
                   20);
    }
  }
  std::filesystem::remove_all(place);
}

// 0: it is another program, or gone.
double PeakIfDiffer(pid_t pid) {
  FILE* const status = fopen(fmt::format("/proc/{}/status", pid).c_str(), "re");
  if (!status) return 0;
  char line[256], name[64] = "";
  double kilobytes = 0;
  while (fgets(line, sizeof line, status)) {
    sscanf(line, "Name: %63s", name);
    sscanf(line, "VmHWM: %lf", &kilobytes);
  }
  fclose(status);
  return strcmp(name, "cloche-diff") == 0 ? kilobytes / 1024 : 0;
}

// The most memory that a cloche-diff of the daemon had while `work` ran, in MB.
double PeakOfDiffer(const OwnDaemon& daemon, const std::function<void()>& work) {
  std::atomic<bool> done = false;
  std::exception_ptr failed;
  std::jthread worker([&] {
    try {
      work();
    } catch (...) {
      failed = std::current_exception();
    }
    done = true;
  });
  double peak = 0;
  for (; !done; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    for (const pid_t pid : daemon.Processes()) peak = std::max(peak, PeakIfDiffer(pid));
  worker.join();
  if (failed) std::rethrow_exception(failed);
  return peak;
}

void ManyChanges(OwnDaemon& daemon, Report& report) {
  Sandbox box(daemon);
  for (const int changes : {10'000, 100'000}) {
    box.MakeTree(fmt::format("many{}", changes), changes);
    Series series;
    const double peak = PeakOfDiffer(daemon, [&] {
      for (int i = 0; i < 3; ++i) series.Add(box.Diff());
    });
    report.Tell(fmt::format("diff of {} changes", changes), series);
    report.Tell("  memory of cloche-diff", fmt::format("{:.1f} MB", peak));
  }
}

void RaceOverhead(const Options& options, Report& report) {
  const std::string work = "i=0; while [ $i -lt 1500000 ]; do i=$((i + 1)); done";
  const auto both =
      Alternate({[&] {
                   return TimeSpawn({Sibling("cloche"), "race", "--approach", "only=" + work,
                                     "--check", "true", "--pick", "none"});
                 },
                 [&] {
                   return TimeSpawn({"/bin/sh", "-c", work});
                 }},
                {.warmup = 1, .rounds = options.quick ? 3 : 7});
  report.Compare("race of one lane", both[0], "its command", both[1], 1.05);
}

}  // namespace

void BenchDiff(OwnDaemon& daemon, const Options& options, Report& report) {
  LargeTree(daemon, options.full ? 1'000'000 : 100'000, options, report);
  ManyChanges(daemon, report);
  RaceOverhead(options, report);
}

}  // namespace cloche::bench
