#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "probe/api.h"
#include "probe/probe.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

constexpr long kMiB = 1 << 20;

// Runs `attack` beside others; empty when they continue and the daemon does not swell.
ProbeResult Beside(TestBed& bed, const Words& options, const std::string& name, const Words& words,
                   Ran& ran) {
  const long before = DaemonMemory(bed);
  Running attack(bed.Inside(options, name, words));
  if (!attack.WaitForLine("ready")) return DidNotRun(attack.Finish());
  const std::string problem = Unresponsive(bed);
  ran = attack.Finish();
  if (!problem.empty()) return Broken(problem);
  if (!ran.Reported()) return DidNotRun(ran);
  if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  const long grown = DaemonMemory(bed) - before;
  if (before > 0 && grown > 64 * kMiB)
    return Broken(fmt::format("the daemon grew by {} MiB", grown / kMiB));
  return Held();
}

// Every denied call stops its thread until the daemon has looked at it: four threads, while the
// arguments change, and while callers are killed.
ProbeResult Denials(TestBed& bed, const char* threads, const char* calls) {
  const std::string at = bed.project() + "/storm";
  const Ran control = RunToEnd(bed.At(Site::kNamespaces, "denial-storm", {"1", "20", at}));
  if (!control.Reported() || control.report["got"].empty()) return NoControl();
  Ran ran;
  ProbeResult outcome = Beside(bed, {"run", "-q"}, "denial-storm", {threads, calls, at}, ran);
  if (outcome.mark == Mark::kHeld)
    outcome.detail = fmt::format("{} calls denied; a second sandbox and the host go on",
                                 ran.report.value("calls", 0l));
  return outcome;
}

// The daemon keeps counts of a flood of denials, not lines.
ProbeResult DenialLog(TestBed& bed) {
  const std::string name = bed.token() + "log";
  Ran ran = RunToEnd(bed.Cli({"new", "--name", name}));
  if (ran.status != 0) return DidNotRun(ran);
  const Ran flood = RunToEnd(
      bed.Inside({"exec", "-q", name}, "denial-storm", {"2", "2000", bed.project() + "/storm"}));
  ran = RunToEnd(bed.Cli({"show", "--json", name}));
  RunToEnd(bed.Cli({"rm", name}));
  if (!flood.Reported()) return DidNotRun(flood);
  const auto view = nlohmann::json::parse(ran.output, nullptr, false);
  if (!view.is_object() || !view.contains("denials")) return DidNotRun(ran);
  long counted = 0;
  for (const auto& denial : view["denials"]) counted += denial.value("count", 0l);
  const size_t lines = view["denials"].size();
  if (counted == 0) return NoControl("no denial was counted");
  if (lines > 200) return Broken(fmt::format("{} lines for {} denials", lines, counted));
  return Held(fmt::format("{} denials counted in {} lines", counted, lines));
}

ProbeResult Io(TestBed& bed) {
  {
    Running control(bed.Outside("io-storm", {bed.base()}));
    if (!control.WaitForLine("ready")) return NoControl();
    if (!control.Finish().Reported()) return NoControl();
  }
  Ran ran;
  ProbeResult outcome = Beside(bed, {"run", "-q"}, "io-storm", {bed.project()}, ran);
  if (outcome.mark == Mark::kHeld)
    outcome.detail = "the host and a second sandbox go on; bandwidth is not limited";
  return outcome;
}

// The number of the kernel log's next line; -1: it may not be read.
long KernelLogEnd() {
  const int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  char line[8192];
  long last = 0;
  for (ssize_t count; (count = read(fd, line, sizeof line - 1)) > 0 || errno == EPIPE;) {
    if (count <= 0) continue;
    line[count] = '\0';
    sscanf(line, "%*d,%ld", &last);
  }
  close(fd);
  return last;
}

ProbeResult KernelLog(TestBed& bed) {
  constexpr long kTolerated = 100;
  const long start = KernelLogEnd();
  if (start < 0) return NotHere("the kernel's log may not be read");
  RunToEnd(bed.Outside("crash-storm", {"3"}));
  const bool logs = KernelLogEnd() > start;
  for (const auto& [attack, words] :
       {std::pair<const char*, Words>{"crash-storm", {"500"}},
        std::pair<const char*, Words>{"families", {}},
        std::pair<const char*, Words>{"denial-storm", {"2", "500", bed.project() + "/storm"}}}) {
    const long before = KernelLogEnd();
    const Ran ran = RunToEnd(bed.Inside({"run", "-q"}, attack, words));
    if (!ran.Reported()) return DidNotRun(ran);
    const long lines = KernelLogEnd() - before;
    if (lines > kTolerated)
      return Broken(fmt::format("{}: {} lines in the host's kernel log", attack, lines));
  }
  return Held(logs ? "" : "no control: the host's kernel logs no crashes");
}

// The host has to count and delete a tree that was made deep inside.
ProbeResult Deep(TestBed& bed) {
  constexpr const char* kDepth = "3000";  // of 200 bytes each: 150 times the longest path
  constexpr const char* kEntries = "20000";
  const std::string own = bed.base() + "/deep";
  mkdir(own.c_str(), 0755);
  const Ran control = RunToEnd(bed.Outside("deep-tree", {own, "100", "10"}));
  std::error_code error;
  const std::string longest = own + fmt::format(
                                        "/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}"
                                        "/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}",
                                        std::string(200, 'd'));
  const bool too_long = !fs::exists(longest, error) && error;
  fs::remove_all(own, error);
  if (!control.Reported() || !too_long) return NoControl();
  const std::string name = bed.token() + "deep";
  Ran ran = RunToEnd(bed.Cli({"new", "--name", name}));
  if (ran.status != 0) return DidNotRun(ran);
  ran = RunToEnd(bed.Inside({"exec", "-q", name}, "deep-tree", {"/tmp", kDepth, kEntries}));
  const Ran removed = RunToEnd(bed.Cli({"rm", name}));
  if (!ran.Reported()) return DidNotRun(ran);
  if (removed.status != 0) return Broken("it cannot be removed: " + removed.LastError());
  Ran counted = RunToEnd(bed.Inside({"run", "-q"}, "deep-tree", {bed.project(), kDepth, kEntries}));
  if (!counted.ended) return Broken("`run` does not come back");
  if (!counted.Reported()) return DidNotRun(counted);
  if (const std::string problem = Unresponsive(bed); !problem.empty()) return Broken(problem);
  return Held(fmt::format("{} levels, {} entries: counted and removed",
                          ran.report.value("depth", 0l), ran.report.value("entries", 0l)));
}

// Files are hidden by mounts, which cannot be moved away as files could.
ProbeResult Masks(TestBed& bed) {
  const std::string own = bed.base() + "/mask";
  {
    RunToEnd({.argv = {"/bin/cp", bed.attack(), own}});
    Running control(bed.Outside("replace-masks", {own}));
    if (!control.WaitForLine("ready")) return NoControl();
    const Ran ran = control.Finish();
    if (!ran.Reported() || ran.report["got"].empty()) return NoControl();
  }
  const Words words = {"/dev/null", "/dev/pts",  "/dev/pts/ptmx",  "/proc/kcore", "/proc/keys",
                       "/proc/sys", "/dev/full", "/proc/kallsyms", "/proc/acpi",  "/dev/shm"};
  Running attack(bed.Inside({"exec", "-q", bed.sandbox()}, "replace-masks", words));
  if (!attack.WaitForLine("ready")) return DidNotRun(attack.Finish());
  for (int i = 0; i < 20; ++i) {
    const Ran ran = RunToEnd(
        bed.Inside({"exec", "-q", bed.sandbox()}, i % 2 == 0 ? "kernel-secrets" : "read-trees",
                   i % 2 == 0 ? Words{bed.victim_pid()} : Words{bed.hidden()}));
    if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  const Ran ran = attack.Finish();
  if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  if (!ran.Reported()) return DidNotRun(ran);
  return Held("during 20 commands");
}

long OpenFiles(const TestBed& bed) {
  std::error_code error;
  return std::distance(fs::directory_iterator(fmt::format("/proc/{}/fd", bed.daemon_pid()), error),
                       {});
}

size_t Sandboxes(const TestBed& bed) {
  const auto list =
      nlohmann::json::parse(RunToEnd(bed.Cli({"ls", "--all", "--json"})).output, nullptr, false);
  return list.is_array() ? list.size() : 0;
}

// Clients that end normally, are killed at some moment, or ask for something impossible.
ProbeResult Churn(TestBed& bed) {
  constexpr int kRounds = 60;
  RunToEnd(bed.Inside({"run", "-q"}, "nothing", {}));
  const size_t sandboxes = Sandboxes(bed);
  const long files = OpenFiles(bed);
  for (int i = 0; i < kRounds && !interrupted; ++i) {
    Running client(
        bed.Inside({"run", "-q"}, i % 3 == 0 ? "nothing" : "linger", {"churn-of-" + bed.token()}));
    if (i % 3 == 0) {
      if (!client.Finish().Reported()) return Broken("a start fails in between");
    } else {
      poll(nullptr, 0, i % 7);  // not for synchronisation: to hit different moments
      kill(client.pid(), SIGKILL);
    }
  }
  for (int tries = 0; tries < 1000 && !interrupted; ++tries) {
    if (Sandboxes(bed) == sandboxes && OpenFiles(bed) <= files)
      return Held(fmt::format("{} rounds: sandboxes and descriptors as before", kRounds));
    poll(nullptr, 0, 10);
  }
  return Broken(fmt::format("{} sandboxes and {} descriptors became {} and {}", sandboxes, files,
                            Sandboxes(bed), OpenFiles(bed)));
}

// A local user who talks to the daemon without manners.
ProbeResult RudeClients(TestBed& bed) {
  if (bed.socket().empty()) return Inconclusive("the daemon's socket was not found");
  std::vector<int> idle;
  const std::string half = "POST /v1/sandboxes HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{";
  for (int i = 0; i < 200; ++i) {
    idle.push_back(ConnectTo(bed.socket()));
    if (idle.back() >= 0 && i % 2 == 0)
      (void)!send(idle.back(), half.data(), half.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ProbeResult outcome = Held("200 idle and half requests; huge, wrong and hostile fields");
  if (idle[0] < 0) outcome = NoControl("nobody answers the first connection");
  const std::string huge(1 << 20, 'x');
  for (const nlohmann::json& body :
       {nlohmann::json{{"name", huge}}, nlohmann::json{{"name", "../x"}},
        nlohmann::json{{"base", "dir:/../etc"}}, nlohmann::json{{"rw", {"/"}}},
        nlohmann::json{{"limits", {{"pids", -1}}}}, nlohmann::json{{"hide", huge}},
        nlohmann::json::array(), nlohmann::json{{"cwd", std::string("/\0x", 3)}}}) {
    const Answer answer = Post(bed.socket(), "/v1/sandboxes", body);
    if (answer.status == 201) outcome = Broken("accepted: " + body.dump().substr(0, 60));
  }
  if (const std::string problem = Unresponsive(bed); !problem.empty()) outcome = Broken(problem);
  for (const int fd : idle)
    if (fd >= 0) close(fd);
  return outcome;
}

constexpr Probe kStorms[] = {
    Scene("FS-26", "masks moved, deleted, replaced during commands", Masks),
    Scene("FS-28", "trees deeper than any path, entries by the thousand", Deep),
    Scene("PK-24", "denied calls with changing arguments, from dying threads",
          [](TestBed& bed) { return Denials(bed, "4", "1000"); }),
    Scene("PK-25", "a flood of denied calls",
          [](TestBed& bed) { return Denials(bed, "16", "1000"); }),
    Scene("RD-07", "I/O and fsync storm", Io),
    Scene("RD-09", "a flood of denials in what is kept", DenialLog),
    Scene("RD-10", "floods of the kernel's log", KernelLog),
    Scene("RD-12", "sandboxes started and stopped, clients killed in between", Churn),
    Scene("RD-13", "rude clients of the daemon's API", RudeClients),
};

constexpr Promise kPromises[] = {{"storms pass, and everybody else goes on", kStorms}};

}  // namespace

std::span<const Promise> StormPromises() { return kPromises; }

}  // namespace cloche::probe
