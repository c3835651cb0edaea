#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "benches.h"
#include "program.h"

// One job as a person does it, from the command line: a copy of the project, a change in it, the
// list of what changed, and the copy is gone.
namespace cloche::bench {
namespace {

// Files that git knows, and as many that it does not, as dependencies are.
constexpr int kFiles = 5000;
constexpr int kEdits = 10;

struct Contender {
  std::string name;
  std::string id;
  std::string script;  // run in the project; prints one line for each file it changed
};

std::string Change() {
  return fmt::format("for i in $(seq {}); do echo changed > src/f$i; done", kEdits);
}

std::string MakeProject(int files) {
  return fmt::format(
      "mkdir -p src packages && for i in $(seq {}); do echo $i > src/f$i; echo $i > packages/f$i; "
      "done && echo packages > .gitignore",
      files);
}

Contender Cloche() {
  return {"cloche", "job.cloche",
          fmt::format("box=$({0} new 2> /dev/null) && {0} exec $box -- sh -c '{1}' && "
                      "{0} diff $box --name-only && {0} rm $box > /dev/null",
                      Sibling("cloche"), Change())};
}

Contender GitWorktree() {
  return {"git worktree add + cp", "job.git",
          fmt::format("git worktree add -q --detach ../copy && cp -a packages ../copy && (cd "
                      "../copy && {} && git diff --name-only) && git worktree remove --force "
                      "../copy",
                      Change())};
}

// https://github.com/binpash/try. It has no list of names only: its summary has a heading.
Contender Try(const std::string& program) {
  return {"try", "job.try",
          fmt::format("mkdir ../upper && {0} -D ../upper '{1}' && {0} summary ../upper | "
                      "grep -F '/src/f' && rm -rf ../upper",
                      program, Change())};
}

Argv InProject(const std::string& project, const std::string& script) {
  return {"/bin/sh", "-c", "cd '" + project + "' && " + script};
}

// A contender must do the whole job.
bool DoesTheJob(const std::string& project, const Contender& contender) {
  try {
    const std::string printed = Capture(InProject(project, contender.script));
    return std::count(printed.begin(), printed.end(), '\n') == kEdits;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

void BenchJob(OwnDaemon& daemon, const Options& options, Report& report) {
  const std::string place = daemon.work() + "/job", project = place + "/project";
  std::filesystem::create_directories(project);
  TimeSpawn(InProject(project, MakeProject(options.Size(kFiles))));
  std::vector<Contender> contenders{Cloche()};
  if (!DoesTheJob(project, contenders[0])) throw std::runtime_error("cloche does not do the job");

  const std::string promise =
      fmt::format("copy, change and diff of {} files", 2 * options.Size(kFiles));
  const auto enter = [&](const std::string& needed, const Contender& contender) {
    if (FindProgram(needed).empty())
      return report.Tell(contender.id, promise, contender.name + " is not installed");
    if (!DoesTheJob(project, contender))
      return report.Tell(contender.id, promise, contender.name + " does not do it here");
    contenders.push_back(contender);
  };
  if (!FindProgram("git").empty())
    TimeSpawn(InProject(project,
                        "git init -q && git add . && git -c user.name=x -c user.email=x -c "
                        "commit.gpgsign=false commit -qm x"));
  enter("git", GitWorktree());
  enter("try", Try(FindProgram("try")));

  std::vector<Once> jobs;
  for (const Contender& contender : contenders)
    jobs.push_back(
        [&project, script = contender.script] { return TimeSpawn(InProject(project, script)); });
  const auto times = Alternate(jobs, {.warmup = 1, .rounds = options.Rounds(20, 5)});
  if (times.size() == 1) report.Tell(contenders[0].id, promise, times[0]);
  for (size_t i = 1; i < times.size(); ++i)
    report.Compare(contenders[i].id, promise, times[0], contenders[i].name, times[i]);
  std::filesystem::remove_all(place);
}

}  // namespace cloche::bench
