#include <fmt/core.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>

#include "benches.h"
#include "program.h"
#include "sandbox.h"

// The diff of a large tree, and the cost of a race over its commands.
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
    const Schedule schedule{.warmup = 2, .rounds = options.Rounds(20, 5)};
    const std::string id = fmt::format("diff.in-{}", files),
                      promise = fmt::format("diff of {} changes in {} files", kChanges, files);
    if (git) {
      const auto both =
          Alternate({[&] { return box.Diff(); },
                     [&] {
                       return TimeSpawn({"/bin/sh", "-c", "cd '" + place + "' && git status"});
                     }},
                    schedule);
      // Ours does not grow with the tree, and git's does.
      report.CompareBest(id, promise, both[0], "git status", both[1], options.full ? 0.05 : 0.3);
    } else {
      report.Tell(id, promise, Alternate({[&] { return box.Diff(); }}, schedule)[0]);
    }
  }
  std::filesystem::remove_all(place);
}

// 0: it is another program, or gone.
double PeakIf(pid_t pid, std::string_view wanted) {
  FILE* const status = fopen(fmt::format("/proc/{}/status", pid).c_str(), "re");
  if (!status) return 0;
  char line[256], name[64] = "";
  double kilobytes = 0;
  while (fgets(line, sizeof line, status)) {
    sscanf(line, "Name: %63s", name);
    sscanf(line, "VmHWM: %lf", &kilobytes);
  }
  fclose(status);
  return name == wanted ? kilobytes / 1024 : 0;
}

struct Peaks {
  double differ = 0;
  double daemon = 0;
};

// The most memory that cloche-diff and cloched had when `work` had run, in MB.
Peaks PeaksDuring(const OwnDaemon& daemon, const std::function<void()>& work) {
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
  Peaks peak;
  for (; !done; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    for (const pid_t pid : daemon.Processes()) {
      peak.differ = std::max(peak.differ, PeakIf(pid, "cloche-diff"));
      peak.daemon = std::max(peak.daemon, PeakIf(pid, "cloched"));
    }
  worker.join();
  if (failed) std::rethrow_exception(failed);
  return peak;
}

void ManyChanges(OwnDaemon& daemon, const Options& options, Report& report) {
  Sandbox box(daemon);
  std::vector<int> sizes = {options.Size(10'000), options.Size(100'000)};
  if (options.full) sizes.push_back(1'000'000);
  for (const int changes : sizes) {
    box.MakeTree(fmt::format("many{}", changes), changes);
    Series series;
    const Peaks peak = PeaksDuring(daemon, [&] {
      for (int i = 0; i < 3; ++i) series.Add(box.Diff());
    });
    report.Tell(fmt::format("diff.of-{}", changes), fmt::format("diff of {} changes", changes),
                series);
    report.Tell(fmt::format("diff.memory-{}", changes), "  memory of cloche-diff, cloched",
                fmt::format("{:.1f} MB, {:.1f} MB", peak.differ, peak.daemon));
  }
}

void RaceOverhead(const Options& options, Report& report) {
  const std::string work =
      fmt::format("i=0; while [ $i -lt {} ]; do i=$((i + 1)); done", options.Size(1'500'000));
  const auto both =
      Alternate({[&] {
                   return TimeSpawn({Sibling("cloche"), "race", "--approach", "only=" + work,
                                     "--check", "true", "--pick", "none"});
                 },
                 [&] {
                   return TimeSpawn({"/bin/sh", "-c", work});
                 }},
                {.warmup = 1, .rounds = options.Rounds(7, 3)});
  report.CompareBest("diff.race", "race of one lane", both[0], "its command", both[1], 1.05);
}

}  // namespace

void BenchDiff(OwnDaemon& daemon, const Options& options, Report& report) {
  LargeTree(daemon, options.full ? 1'000'000 : options.Size(100'000), options, report);
  ManyChanges(daemon, options, report);
  RaceOverhead(options, report);
}

}  // namespace cloche::bench
