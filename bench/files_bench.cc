#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "benches.h"
#include "host_state.h"
#include "http.h"
#include "program.h"
#include "work.h"

namespace cloche::bench {
namespace {

struct Work {
  const char* name;
  const char* promise;
  const char* needs;
  std::optional<double> on_disk, in_memory;  // bounds
};

constexpr Work kWorks[] = {
    {"small-files", "5,000 small files: make, stat, read", "sh", {}, 1.1},
    {"untar", "tar | untar of 5,000 files", "tar", {}, {}},  // decision 11
    {"compile", "compile a C++ file", "g++", 1.1, 1.1},
    {"git-status", "git status, 5,000 files", "git", 1.6, 1.6},
    {"unlink", "5,000 small files: unlink", "sh", {}, 1.1},
    {"copy", "copy of 100 MB", "cp", {}, {}},
};

// ext4 makes a file ten times as slowly in a block group where many were deleted in the last
// minutes (by an earlier run, say). Spread over groups, rounds outside do not meet that.
void SpreadSubdirectories(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
    flags |= FS_TOPDIR_FL;
    ioctl(fd, FS_IOC_SETFLAGS, &flags);  // other file systems refuse, and need not be told
  }
  close(fd);
}

// Inside writes go to the pool, outside to whatever the machine has. Beside the bare pool one sees
// what the sandbox alone costs.
void BesideThePool(const OwnDaemon& daemon, const Options& options, const Once& inside,
                   Report& report) {
  const std::string place = PoolSeenFromHere(daemon) + "/bench";
  if (geteuid() != 0 || mkdir(place.c_str(), 0700) != 0) return;
  const Once bare = [&] {
    return std::stod(Capture({Sibling("cloche-bench"), "--work", "small-files", place}));
  };
  const auto both = Alternate({bare, inside}, {.warmup = 1, .rounds = options.Rounds(9, 3)});
  report.Compare("files.pool", "  beside the same on the bare pool", both[1], "pool", both[0]);
  std::filesystem::remove_all(place);
}

}  // namespace

void BenchFiles(OwnDaemon& daemon, const Options& options, Report& report) {
  if (FindProgram("git").empty()) throw std::runtime_error("git is not installed");
  PrepareWork(daemon.work());
  for (const char* side : {"/outside", "/inside"}) {
    mkdir((daemon.work() + side).c_str(), 0755);
    SpreadSubdirectories(daemon.work() + side);
  }
  Connection connection(daemon.socket());
  nlohmann::json wish = daemon.SandboxRequest();
  const std::string on_disk = connection.Call("POST", "/v1/sandboxes", wish).at("id");
  wish["in_memory"] = true;
  const std::string in_memory = connection.Call("POST", "/v1/sandboxes", wish).at("id");
  const std::string self = Sibling("cloche-bench");
  for (const Work& work : kWorks) {
    const std::string row = fmt::format("files.{}", work.name);
    if (FindProgram(work.needs).empty()) {
      report.Tell(row, work.promise, fmt::format("{} is not installed", work.needs));
      continue;
    }
    // In two directories, because inside one sees what is made outside.
    const Once outside = [&] {
      return std::stod(Capture({self, "--work", work.name, daemon.work() + "/outside"}));
    };
    const Argv argv = {self, "--work", work.name, daemon.work() + "/inside"};
    const auto in = [&](const std::string& id) {
      const auto result =
          connection.Call("POST", "/v1/sandboxes/" + id + "/commands", {{"argv", argv}});
      if (result.value("exit_status", -1) != 0)
        throw std::runtime_error(fmt::format("{} inside: {}", work.name, result.dump()));
      return std::stod(result.at("stdout").get<std::string>());
    };
    const Once disk = [&] { return in(on_disk); };
    const Once memory = [&] { return in(in_memory); };
    const auto all =
        Alternate({outside, disk, memory}, {.warmup = 1, .rounds = options.Rounds(9, 3)});
    report.Compare(row, fmt::format("inside: {}", work.promise), all[1], "outside", all[0],
                   work.on_disk);
    report.Compare(row + "-memory", "  the same with --in-memory", all[2], "outside", all[0],
                   work.in_memory);
    if (work.name == std::string_view("small-files")) BesideThePool(daemon, options, disk, report);
  }
  for (const std::string& id : {on_disk, in_memory})
    connection.Call("DELETE", "/v1/sandboxes/" + id);
}

}  // namespace cloche::bench
