#include <fmt/core.h>
#include <stdlib.h>

#include <filesystem>

#include "benches.h"
#include "program.h"
#include "sandbox.h"

// What a sandbox changed is lifted into reality, with its journal and down on disk, beside `cp -a`
// of the same files, which keeps no journal and cannot be undone, and `sync -f` after it.
namespace cloche::bench {
namespace {

// Promotions are recorded below the home: not below that of whoever measures.
class OwnHome {
 public:
  explicit OwnHome(const std::string& path) : before_(getenv("HOME") ? getenv("HOME") : "/") {
    std::filesystem::create_directories(path);
    setenv("HOME", path.c_str(), 1);
  }
  ~OwnHome() { setenv("HOME", before_.c_str(), 1); }

 private:
  std::string before_;
};

// What an undo left is swept up after its answer: whoever is first removes a file.
void ForgetPromotions() {
  const std::string all = std::string(getenv("HOME")) + "/.local/state/cloche/promotions";
  std::error_code lost;
  for (int round = 0; round < 1000 && std::filesystem::exists(all); ++round)
    std::filesystem::remove_all(all, lost);
}

double Undo(const std::string& id) { return TimeSpawn({Sibling("cloche"), "undo", id}); }

void ManyFiles(OwnDaemon& daemon, int directories, int rounds, Report& report) {
  const std::string many = daemon.work() + "/many", source = daemon.work() + "/source",
                    copy = daemon.work() + "/copy";
  Sandbox box(daemon);
  box.Run(fmt::format(
      "mkdir many && cd many && for d in $(seq {}); do mkdir d$d && head -c 2000000 /dev/urandom | "
      "split -a 3 -b 20000 - d$d/f; done",
      directories));
  const auto first = box.Promote(many);
  TimeSpawn({"/bin/sh", "-c", "cp -a '" + many + "' '" + source + "'"});
  Undo(first.id);
  ForgetPromotions();
  Series looked, undone;
  const auto both = Alternate(
      {[&] {
         const auto done = box.Promote(many);
         looked.Add(done.look_ms);
         undone.Add(Undo(done.id));
         ForgetPromotions();
         return done.apply_ms;
       },
       [&] {
         const double ms = TimeSpawn(
             {"/bin/sh", "-c", "cp -a '" + source + "' '" + copy + "' && sync -f '" + copy + "'"});
         std::filesystem::remove_all(copy);
         return ms;
       }},
      {.warmup = 1, .rounds = rounds});
  report.Compare(fmt::format("promote {} files, {} MB", directories * 100, directories * 2),
                 both[0], "cp -a && sync -f", both[1], 1 / 0.7);
  report.Tell("  to look at them first", looked);
  report.Tell("  undo of it", undone);
  std::filesystem::remove_all(source);
}

void OneFile(OwnDaemon& daemon, int rounds, Report& report) {
  const std::string one = daemon.work() + "/one";
  Sandbox box(daemon);
  box.Run("echo changed > one");
  Series looked, applied, undone;
  for (int round = 0; round < rounds; ++round) {
    const auto done = box.Promote(one);
    looked.Add(done.look_ms);
    applied.Add(done.apply_ms);
    undone.Add(Undo(done.id));
    ForgetPromotions();
  }
  report.Limit("promote one file", applied.Median(), "ms", 10);
  report.Tell("  all of them", applied);
  report.Tell("  to look at it first", looked);
  report.Tell("  undo of it, from the command line", undone);
}

}  // namespace

void BenchPromote(OwnDaemon& daemon, const Options& options, Report& report) {
  const OwnHome home(daemon.work() + "/home");
  OneFile(daemon, options.Rounds(40, 10), report);
  ManyFiles(daemon, options.Size(100), options.Rounds(7, 3), report);
}

}  // namespace cloche::bench
