#include <fmt/core.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "benches.h"
#include "floor.h"
#include "program.h"
#include "sandbox.h"

// Promotion of a sandbox's changes, with its journal and down on disk, beside `cp -a` of the same
// files, which keeps no journal and cannot be undone, and `sync -f` after it.
namespace cloche::bench {
namespace {

constexpr double kOneBound = 8;  // of what coreutils need to replace a file safely

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

// An undo removes its remains after it has answered, so files may vanish under remove_all.
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
  report.Compare("promote.many",
                 fmt::format("promote {} files, {} MB", directories * 100, directories * 2),
                 both[0], "cp -a && sync -f", both[1], 1 / 0.7);
  report.Tell("promote.many-look", "  to look at them first", looked);
  report.Tell("promote.many-undo", "  undo of it", undone);
  std::filesystem::remove_all(source);
}

std::string WriteSource(const std::string& path) {
  std::ofstream(path) << "changed\n";
  return path;
}

void OneFile(OwnDaemon& daemon, int rounds, Report& report) {
  const std::string one = daemon.work() + "/one";
  Sandbox box(daemon);
  box.Run("echo changed > one");
  const std::string source = WriteSource(daemon.work() + "/source-of-one"),
                    target = daemon.work() + "/safely-replaced";
  Series looked, undone;
  const auto both = Alternate({[&] {
                                 const auto done = box.Promote(one);
                                 looked.Add(done.look_ms);
                                 undone.Add(Undo(done.id));
                                 ForgetPromotions();
                                 return done.apply_ms;
                               },
                               [&] { return ReplaceSafely(source, target); }},
                              {.warmup = 1, .rounds = rounds});
  report.CompareBest("promote.one", "promote one file", both[0], "cp + fsync", both[1], kOneBound);
  report.Tell("promote.one-look", "  to look at it first", looked);
  report.Tell("promote.one-undo", "  undo of it, from the command line", undone);
}

}  // namespace

void BenchPromote(OwnDaemon& daemon, const Options& options, Report& report) {
  const OwnHome home(daemon.work() + "/home");
  OneFile(daemon, options.Rounds(60, 30), report);
  ManyFiles(daemon, options.Size(100), options.Rounds(7, 3), report);
}

}  // namespace cloche::bench
