#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "probe/probe.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

Words VictimAndInit(const TestBed& bed, Site place) {
  return IsControl(place) ? Words{bed.victim_pid()} : Words{bed.victim_pid(), "1"};
}

Words VictimAndAll(const TestBed& bed, Site place) {
  return IsControl(place) ? Words{bed.victim_pid()} : Words{bed.victim_pid(), "all"};
}

Words Project(const TestBed& bed, Site) { return {bed.project()}; }
Words Light(const TestBed&, Site place) { return IsControl(place) ? Words{"light"} : Words{}; }

Words Shared(const TestBed& bed, Site) { return {std::to_string(bed.shm_key()), bed.token()}; }

Words Abstract(const TestBed& bed, Site) { return bed.ears().abstract_names(); }

const char* CoresAreOff(const TestBed&) {
  return ReadAll("/proc/self/limits").find("Max core file size        0                    0") ==
                 std::string::npos
             ? nullptr
             : "core files are limited to nothing on this host already";
}

Words Processes(const std::string& token) {
  Words found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string text = ReadAll(entry.path().string() + "/cmdline");
    if (text.find("linger") != std::string::npos && text.find(token) != std::string::npos)
      found.push_back(entry.path().filename());
  }
  return found;
}

// Processes end asynchronously; those still there after this long stay.
bool AllGone(const std::string& token) {
  for (int tries = 0; tries < 1000 && !interrupted; ++tries) {
    if (Processes(token).empty()) return true;
    poll(nullptr, 0, 10);
  }
  return false;
}

ProbeResult Orphans(TestBed& bed) {
  const std::string mark = "orphan-of-" + bed.token();
  const Words words = {mark, bed.attack()};
  RunToEnd(bed.Outside("orphans", words));
  // One that has not reached its exec yet would be missed here and blamed on a sandbox later.
  for (int tries = 0; tries < 1000 && Processes(mark).size() < 3 && !interrupted; ++tries)
    poll(nullptr, 0, 10);
  const Words survived = Processes(mark);
  for (const std::string& pid : survived) kill(atoi(pid.c_str()), SIGKILL);
  if (survived.empty()) return NoControl();
  if (!AllGone(mark)) return NoControl("what the control started does not die");
  const Ran run = RunToEnd(bed.Inside({"run", "-q"}, "orphans", words));
  if (!run.Reported()) return DidNotRun(run);
  if (!AllGone(mark)) return Broken("processes outlive their sandbox after run");
  for (const std::string verb : {"stop", "rm"}) {
    const std::string name = bed.token() + verb;
    Ran ran = RunToEnd(bed.Cli({"new", "--name", name}));
    if (ran.status != 0) return DidNotRun(ran);
    ran = RunToEnd(bed.Inside({"exec", "-q", name}, "orphans", words));
    if (!ran.Reported()) return DidNotRun(ran);
    ran = RunToEnd(bed.Cli({verb, name}));
    const bool gone = AllGone(mark);
    if (verb == "stop") RunToEnd(bed.Cli({"rm", name}));
    if (!gone) return Broken(fmt::format("processes outlive their sandbox after {}", verb));
  }
  return Held("daemon, stopped and deaf ones, after run, stop and rm");
}

std::string Hash(const std::string& path) {
  const std::string text = ReadAll(path, 64 << 20);
  return fmt::format("{}-{:x}", text.size(), std::hash<std::string>{}(text));
}

ProbeResult Overwrite(TestBed& bed) {
  const std::string copy = bed.base() + "/runtime";
  fs::copy_file(bed.attack(), copy);
  {
    Running runtime({.argv = {copy, "--attack", "victim"}});
    runtime.WaitForLine("r");
    Running thief(bed.Outside("overwrite-program", {std::to_string(runtime.pid())}));
    if (!thief.WaitForLine("ready")) return NoControl();
    kill(runtime.pid(), SIGKILL);
    runtime.Finish();
    if (bed.Evidence(thief.Finish()).empty()) return NoControl();
  }
  const fs::path binaries = fs::path(bed.cli()).parent_path();
  Words programs = {bed.cli()};
  for (const fs::path& path :
       {binaries / "cloched", binaries / "cloche-spawn", binaries / "../libexec/cloche/cloched",
        binaries / "../libexec/cloche/cloche-spawn"})
    if (fs::exists(path)) programs.push_back(path);
  Words before;
  for (const std::string& program : programs) before.push_back(Hash(program));
  const Words inside = {"exec", "-q", bed.sandbox()};
  Running thief(bed.Inside(inside, "overwrite-program", {"1"}));
  if (!thief.WaitForLine("ready")) return DidNotRun(thief.Finish());
  for (int i = 0; i < 50; ++i) RunToEnd(bed.Inside(inside, "nothing", {}));
  const Ran ran = thief.Finish();
  if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  if (!ran.Reported()) return DidNotRun(ran);
  for (size_t i = 0; i < programs.size(); ++i)
    if (Hash(programs[i]) != before[i]) return Broken(programs[i] + " changed");
  return Held("during 50 commands");
}

constexpr Probe kPower[] = {
    {"PK-01", "capabilities, no_new_privs, filter: main thread, second thread, child",
     "privileges"},
    {"PK-04", "unshare, clone, clone3, setns with every namespace", "new-namespaces"},
    {"PK-05", "a user namespace inside, then mount and AF_PACKET", "nested-power"},
    {"PK-14", "cgroups: writable files, mounts, release_agent", "cgroups", Project,
     Site::kNamespaces},
    {"PK-15", "core dumps into the host's handler", "core-dumps", Light, Site::kBare, CoresAreOff},
    {"PK-17", "typing into terminals: TIOCSTI, TIOCSETD, TIOCLINUX, high bits", "terminals"},
    {"PK-28", "clock and host name", "clock-and-name", nullptr, Site::kNamespaces},
    {"PK-31", "personality: executable data, page zero", "personalities"},
};

constexpr Probe kOthers[] = {
    {"PK-10", "ptrace, process_vm_readv, pidfd_getfd, setns of init and host", "take-over",
     VictimAndInit},
    {"PK-11", "signals to processes of the host, to everybody, to init", "signals", VictimAndAll},
    Scene("PK-12", "the runtime's own program through /proc/1/exe", Overwrite),
    {"PK-19", "System V and POSIX shared memory", "shared-memory", Shared},
    {"PK-20", "abstract sockets: stream, datagram, seqpacket", "abstract-sockets", Abstract},
    Scene("PK-26", "processes that survive the end of their sandbox", Orphans),
};

constexpr Promise kPromises[] = {
    {"nobody inside gains power", kPower},
    {"processes outside are out of reach", kOthers},
};

}  // namespace

std::span<const Promise> ProcessPromises() { return kPromises; }

}  // namespace cloche::probe
