#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "benches.h"
#include "floor.h"
#include "program.h"

namespace cloche::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kBlock = 20;

struct Peer {
  std::string name;
  std::string program;
  Once once;
};

// runc wants a root directory of its own, so the machine's top-level directories are bound into
// one.
nlohmann::json RuncConfig(const std::string& rootfs) {
  nlohmann::json mounts = {{{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}},
                           {{"destination", "/dev"}, {"type", "tmpfs"}, {"source", "tmpfs"}}};
  for (const auto& entry : fs::directory_iterator("/")) {
    const std::string path = entry.path();
    if (entry.is_symlink()) {
      fs::create_symlink(fs::read_symlink(path), rootfs + path);
    } else if (entry.is_directory() && path != "/proc" && path != "/dev" && path != "/sys") {
      fs::create_directory(rootfs + path);
      mounts.push_back(
          {{"destination", path}, {"type", "bind"}, {"source", path}, {"options", {"bind", "ro"}}});
    }
  }
  nlohmann::json namespaces = nlohmann::json::array();
  for (const char* kind : {"pid", "network", "ipc", "uts", "mount"})
    namespaces.push_back({{"type", kind}});
  return {{"ociVersion", "1.0.2"},
          {"process",
           {{"terminal", false},
            {"user", {{"uid", 0}, {"gid", 0}}},
            {"args", {FindProgram("true")}},
            {"env", {"PATH=/usr/bin:/bin"}},
            {"cwd", "/"},
            {"noNewPrivileges", true}}},
          {"root", {{"path", rootfs}, {"readonly", true}}},
          {"mounts", mounts},
          {"linux", {{"namespaces", namespaces}}}};
}

Once RuncOnce(const std::string& program, const std::string& directory) {
  const std::string rootfs = directory + "/rootfs";
  fs::create_directories(rootfs);
  std::ofstream(directory + "/config.json") << RuncConfig(rootfs).dump();
  return [=, serial = 0]() mutable {
    return TimeSpawn({program, "--root", directory + "/state", "run", "--bundle", directory,
                      fmt::format("cloche-bench-{}-{}", getpid(), ++serial)});
  };
}

std::vector<Peer> OtherPeers(const OwnDaemon& daemon) {
  const std::string command = FindProgram("true");
  std::vector<Peer> peers;
  for (const char* name : {"runc", "runsc", "firejail"}) {
    Peer peer{name, FindProgram(name), {}};
    if (peer.name == "runc" && !peer.program.empty())
      peer.once = RuncOnce(peer.program, daemon.work() + "/runc");
    if (peer.name == "runsc")
      peer.once = [=] {
        return TimeSpawn({peer.program, "--platform=ptrace", "--network=none", "--ignore-cgroups",
                          "do", command});
      };
    if (peer.name == "firejail")
      peer.once = [=] {
        return TimeSpawn({peer.program, "--quiet", "--noprofile", "--net=none", command});
      };
    peers.push_back(std::move(peer));
  }
  peers.push_back({"fork+exec", command, [=] { return TimeFork({command}); }});
  return peers;
}

void ColdStart(OwnDaemon& daemon, const Options& options, Report& report) {
  const Argv run = {daemon.cloche(), "run", "--", FindProgram("true")};
  Series first, again;
  for (int round = 0; round < options.Rounds(5, 2); ++round) {
    daemon.Stop();
    daemon.ForgetState();
    first.Add(TimeSpawn(run));
    daemon.Start();
    daemon.Stop();
    again.Add(TimeSpawn(run));
    daemon.Start();
  }
  report.Tell("start.cold", "cold start of the daemon + clone, true, destroy", again);
  report.Tell("start.first", "  the very first time (the pool is made)", first);
}

}  // namespace

void BenchStart(OwnDaemon& daemon, const Options& options, Report& report) {
  const std::string command = FindProgram("true");
  const Argv bwrap = BwrapTrue();
  const Once ours = [&] { return TimeSpawn({daemon.cloche(), "run", "--", command}); };
  const std::string what = "clone, true, destroy: ";
  if (bwrap.empty()) {
    report.Tell("start.paced", what + "bwrap", "not installed");
  } else {
    const Once peer = [&] { return TimeSpawn(bwrap); };
    const auto paced = Alternate({peer, ours}, {.rounds = options.Rounds(100, 20), .pause = 50ms});
    report.Compare("start.paced", what + "paced", paced[1], "bwrap", paced[0], 0.7);
    const auto rush =
        Alternate({peer, ours},
                  {.warmup = 1, .rounds = options.Rounds(15, 3), .block = kBlock, .pause = 0ms});
    report.Compare("start.rush", fmt::format("{}back to back ({} in a row)", what, kBlock), rush[1],
                   "bwrap", rush[0], 1.0);
  }
  for (const Peer& peer : OtherPeers(daemon)) {
    const std::string id = "start." + peer.name, line = "  beside " + peer.name;
    if (peer.program.empty()) {
      report.Tell(id, line, "not installed");
      continue;
    }
    try {
      const auto both = Alternate({peer.once, ours},
                                  {.warmup = 1, .rounds = options.Rounds(20, 5), .pause = 50ms});
      report.Compare(id, line, both[1], peer.name, both[0]);
    } catch (const std::runtime_error& error) {
      report.Tell(id, line, "does not work here");
      fmt::print(stderr, "cloche-bench: {}\n", error.what());
    }
  }
  ColdStart(daemon, options, report);
}

}  // namespace cloche::bench
