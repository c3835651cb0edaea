#include <fmt/format.h>

#include <filesystem>

#include "benches.h"
#include "http.h"
#include "program.h"

// What a sandbox changed, in a large tree; and what a race costs over its commands.
namespace cloche::bench {
namespace {

constexpr int kChanges = 100;

class ChangedSandbox {
 public:
  explicit ChangedSandbox(OwnDaemon& daemon) : connection_(daemon.socket()), work_(daemon.work()) {
    id_ = connection_.Call("POST", "/v1/sandboxes", daemon.SandboxRequest()).at("id");
  }
  ~ChangedSandbox() { connection_.Call("DELETE", "/v1/sandboxes/" + id_); }
  ChangedSandbox(const ChangedSandbox&) = delete;
  ChangedSandbox& operator=(const ChangedSandbox&) = delete;

  void Run(const std::string& script) {
    const auto result =
        connection_.Call("POST", "/v1/sandboxes/" + id_ + "/commands",
                         {{"argv", {"sh", "-c", "cd '" + work_ + "' && " + script}}});
    if (result.value("exit_status", -1) != 0) throw std::runtime_error(result.dump());
  }
  double Diff() { return TimeSpawn({Sibling("cloche"), "diff", id_, "--name-only", "--all"}); }

 private:
  Connection connection_;
  std::string work_, id_;
};

std::string MakeFiles(int count) {
  return fmt::format(
      "mkdir -p tree && cd tree && i=0; while [ $i -lt {} ]; do mkdir d$i && (cd d$i && seq 1000 | "
      "split -l 1 -a 3 - f); i=$((i + 1)); done",
      count / 1000);
}

void LargeTree(OwnDaemon& daemon, int files, const Options& options, Report& report) {
  const std::string place = daemon.work() + "/tree";
  TimeSpawn({"/bin/sh", "-c", "cd '" + daemon.work() + "' && " + MakeFiles(files)});
  const bool git = !FindProgram("git").empty();
  if (git)
    TimeSpawn({"/bin/sh", "-c",
               "cd '" + place +
                   "' && git init -q && git add . && git -c user.name=x -c "
                   "user.email=x commit -qm x"});
  {
    ChangedSandbox box(daemon);
    box.Run(
        fmt::format("cd tree && for i in $(seq {}); do echo changed > d$((i % {}))/faaa$i; done",
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
      report.Compare("  beside git status", both[0], "git status", both[1], 0.05);
    } else {
      report.Limit(promise, Alternate({[&] { return box.Diff(); }}, schedule)[0].Median(), "ms",
                   20);
    }
  }
  std::filesystem::remove_all(place);
}

void ManyChanges(OwnDaemon& daemon, Report& report) {
  ChangedSandbox box(daemon);
  box.Run(MakeFiles(100'000));
  Series series;
  for (int i = 0; i < 3; ++i) series.Add(box.Diff());
  report.Tell("diff of 100,000 changes", series);
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
