#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "probe/probe.h"

namespace cloche::probe {
namespace {

constexpr long kMiB = 1 << 20;

bool HasCapability(int number) {
  const std::string status = ReadAll("/proc/self/status");
  const size_t at = status.find("CapEff:\t");
  return at != std::string::npos &&
         ((strtoull(status.c_str() + at + 8, nullptr, 16) >> number) & 1) != 0;
}

const char* MayNotScoreOutside(const TestBed&) {
  constexpr int kSysResource = 24;
  return HasCapability(kSysResource) ? nullptr : "CAP_SYS_RESOURCE is missing outside as well";
}

const char* MayNotScheduleOutside(const TestBed&) {
  constexpr int kSysNice = 23;
  return HasCapability(kSysNice) ? nullptr : "CAP_SYS_NICE is missing outside as well";
}

// Rootless without a delegated cgroup the CLI refuses such limits and says what would help.
bool IsRefusedHere(const Ran& ran) {
  return ran.status == 125 && ran.LastError().starts_with("cloche: limit ");
}

// An attack that fills something up, is looked at while it holds it, and tells how far it came.
ProbeResult Fill(TestBed& bed, const Words& options, const std::string& name, const Words& words,
                 const char* key, long limit) {
  {
    Running control(bed.Outside(name, words));
    control.WaitForLine("ready");
    const Ran ran = control.Finish();
    if (!ran.Reported() || ran.report.value(key, 0l) <= limit) return NoControl();
  }
  Running attack(bed.Inside(options, name, words));
  if (!attack.WaitForLine("ready")) {
    const Ran ran = attack.Finish();
    return IsRefusedHere(ran) ? NotHere(ran.LastError()) : DidNotRun(ran);
  }
  if (const std::string problem = Unresponsive(bed); !problem.empty()) return Broken(problem);
  const Ran ran = attack.Finish();
  if (!ran.Reported()) return DidNotRun(ran);
  const long reached = ran.report.value(key, 0l);
  if (reached > limit)
    return Broken(fmt::format("{} {} although {} is the limit", reached, key, limit));
  return Held(fmt::format("stopped at {} {}; a second sandbox and the host go on", reached, key));
}

ProbeResult ForkBomb(TestBed& bed) {
  return Fill(bed, {"run", "-q", "--pids", "64"}, "fork-bomb", {"300"}, "count", 64);
}

ProbeResult DiskFill(TestBed& bed) {
  // btrfs accounts extents and a little metadata on top of what a file holds.
  return Fill(bed, {"run", "-q", "--disk", "16M"}, "fill-disk",
              {bed.project(), std::to_string(64 * kMiB)}, "bytes", 20 * kMiB);
}

ProbeResult HiddenBytes(TestBed& bed) {
  return Fill(bed, {"run", "-q", "--disk", "16M"}, "hide-bytes",
              {bed.project(), std::to_string(64 * kMiB)}, "bytes", 20 * kMiB);
}

ProbeResult OpenFiles(TestBed& bed) {
  Ran ran = RunToEnd(bed.Outside("open-files", {"300"}));
  if (!ran.Reported() || ran.report.value("count", 0l) <= 64) return NoControl();
  ran = RunToEnd(bed.Inside({"run", "-q", "--files", "64"}, "open-files", {"300"}));
  if (!ran.Reported()) return DidNotRun(ran);
  const long count = ran.report.value("count", 0l);
  return count <= 64 ? Held(fmt::format("stopped at {}", count))
                     : Broken(fmt::format("{} open although 64 is the limit", count));
}

// Some things the kernel has one stock of, per machine or per user: one sandbox must not empty it.
ProbeResult SharedStock(TestBed& bed, const std::string& kind) {
  const Words one = {kind, "1"}, many = {kind, kind == "timers" ? "200000" : "5000"};
  const Ran control = RunToEnd(bed.Outside("exhaust", one));
  if (!control.Reported() || control.report.value("count", 0) != 1) return NoControl();
  Running attack(bed.Inside({"run", "-q"}, "exhaust", many));
  if (!attack.WaitForLine("ready")) return DidNotRun(attack.Finish());
  const Ran host = RunToEnd(bed.Outside("exhaust", one));
  const Ran second = RunToEnd(bed.Inside({"run", "-q"}, "exhaust", one));
  const Ran first = attack.Finish();
  const int held = first.Reported() ? first.report.value("count", 0) : 0;
  if (!host.Reported() || host.report.value("count", 0) != 1)
    return Broken(fmt::format("one sandbox holds {} {}: the host gets none", held, kind));
  if (!second.Reported() || second.report.value("count", 0) != 1)
    return Broken(fmt::format("one sandbox holds {} {}: a second gets none", held, kind));
  return Held(fmt::format("stopped at {}; a second sandbox and the host get theirs", held));
}

ProbeResult Memory(TestBed& bed) {
  constexpr long kEaten = 256 * kMiB;
  Words done;
  for (const std::string how : {"malloc", "memfd", "shm", "pipes"}) {
    const Words words = {how, std::to_string(how == "pipes" ? 80 * kMiB : kEaten)};
    const Ran control = RunToEnd(bed.Outside("eat-memory", words));
    // Pipes are limited per user by the kernel; then there is nothing to show with them.
    if (how == "pipes" && control.report.value("bytes", 0l) < 64 * kMiB) continue;
    if (!control.Reported() || control.report.value("bytes", 0l) < kEaten * 3 / 10)
      return NoControl(how);
    Running attack(bed.Inside({"run", "--json", "--memory", "64M"}, "eat-memory", words));
    const std::string problem = Unresponsive(bed);
    const Ran ran = attack.Finish();
    if (!ran.ended) return Broken(how + ": it did not end");
    const auto result = nlohmann::json::parse(ran.output, nullptr, false);
    if (!result.is_object()) return DidNotRun(ran);
    if (result.contains("error") && result["error"].is_object()) {
      const std::string message = result["error"].value("message", "");
      return message.starts_with("limit ") ? NotHere(message) : DidNotRun(ran);
    }
    if (!result.contains("limit")) return DidNotRun(ran);
    if (!problem.empty()) return Broken(how + ": " + problem);
    const std::string output = result.value("stdout", "");
    if (output.find("\"attack\"") != std::string::npos)
      return Broken(
          fmt::format("{}: took {} MiB although 64 MiB is the limit", how, kEaten / kMiB));
    // A full /dev/shm is SIGBUS: contained as well.
    if (result["limit"].is_null() && how != "shm")
      return Broken(
          fmt::format("{}: ended, but no limit is named: {}", how, result.dump().substr(0, 160)));
    done.push_back(how);
  }
  return Held(fmt::format("{} end as `memory limit`; host and a second sandbox go on",
                          fmt::join(done, ", ")));
}

ProbeResult CpuSpin(TestBed& bed) {
  const std::string count = std::to_string(std::thread::hardware_concurrency() * 4);
  {
    Running control(bed.Outside("spin", {count}));
    if (!control.WaitForLine("ready")) return NoControl();
    const Ran ran = control.Finish();
    if (!ran.Reported()) return NoControl();
  }
  Running attack(bed.Inside({"run", "-q"}, "spin", {count}));
  if (!attack.WaitForLine("ready")) return DidNotRun(attack.Finish());
  const std::string problem = Unresponsive(bed);
  const Ran ran = attack.Finish();
  if (!problem.empty()) return Broken(problem);
  return ran.Reported() ? Held("the host and a second sandbox go on") : DidNotRun(ran);
}

ProbeResult OutputFlood(TestBed& bed) {
  constexpr long kFlood = 256 * kMiB, kKept = 64 * 1024, kTolerated = 64 * kMiB;
  const Words words = {std::to_string(kFlood)};
  const Ran control = RunToEnd(bed.Outside("flood", {std::to_string(4 * kMiB)}));
  if (control.output.size() <= kKept) return NoControl();
  const long before = DaemonMemory(bed);
  Running attack(bed.Inside({"run", "--json", "--output", "64K"}, "flood", words));
  const std::string problem = Unresponsive(bed);
  const Ran ran = attack.Finish();
  if (!problem.empty()) return Broken(problem);
  const auto result = nlohmann::json::parse(ran.output, nullptr, false);
  if (!result.is_object() || !result.contains("output")) return DidNotRun(ran);
  const long kept = result["output"].value("kept_bytes", 0l);
  const long dropped = result["output"].value("dropped_bytes", 0l);
  if (kept > kKept) return Broken(fmt::format("{} bytes kept although 64K is the limit", kept));
  if (kept + dropped < kFlood)
    return Broken(fmt::format("{} bytes are not accounted for", kFlood - kept - dropped));
  const long grown = DaemonMemory(bed) - before;
  if (before > 0 && grown > kTolerated)
    return Broken(fmt::format("the daemon grew by {} MiB", grown / kMiB));
  return Held(
      fmt::format("{} MiB flooded, {} KiB kept, the rest counted", kFlood / kMiB, kept / 1024));
}

// Nobody reads: the flood must wait, not pile up in the daemon.
ProbeResult SlowReader(TestBed& bed) {
  const long before = DaemonMemory(bed);
  Running attack(bed.Inside({"run", "-q"}, "flood", {std::to_string(1024 * kMiB)}));
  for (int i = 0; i < 5; ++i)
    if (const std::string problem = Unresponsive(bed); !problem.empty()) return Broken(problem);
  const long grown = DaemonMemory(bed) - before;
  if (before > 0 && grown > 64 * kMiB)
    return Broken(fmt::format("the daemon grew by {} MiB", grown / kMiB));
  kill(attack.pid(), SIGKILL);
  attack.Finish();
  return Held("the daemon's memory stays flat; the flood's control is RD-08's");
}

ProbeResult Dodger(TestBed& bed) {
  {
    Running control(bed.Outside("dodge", {}));
    if (!control.WaitForLine("ready")) return NoControl();
    kill(control.pid(), SIGTERM);
    RunToEnd(bed.Outside("nothing", {}));
    if (!control.Alive()) return NoControl("SIGTERM ended it");
  }
  const Ran ran = RunToEnd(bed.Inside({"run", "--json", "--wall", "1s"}, "dodge", {}));
  if (!ran.ended) return Broken("it still runs");
  const auto result = nlohmann::json::parse(ran.output, nullptr, false);
  if (!result.is_object() || !result.contains("limit")) return DidNotRun(ran);
  if (result["limit"].is_null())
    return Broken("it ended, but not by its limit: " + result.dump().substr(0, 160));
  return Held("ended by its wall time");
}

constexpr Probe kLimits[] = {
    Scene("RD-01", "fork bomb", ForkBomb),
    Scene("RD-02", "memory: heap, memfd, /dev/shm, pipes", Memory),
    {"RD-03", "exemption from the OOM killer", "oom-score", nullptr, Site::kBare,
     MayNotScoreOutside},
    Scene("RD-04", "disk filler", DiskFill),
    Scene("FS-34", "quota: deleted, reserved, sparse files, project ids", HiddenBytes),
    Scene("RD-05", "open files of a process", OpenFiles),
    Scene("RD-05b", "pseudo-terminals, of which the machine has one stock",
          [](TestBed& bed) { return SharedStock(bed, "ptys"); }),
    Scene("RD-05c", "inotify instances, of which a user has one stock",
          [](TestBed& bed) { return SharedStock(bed, "inotify"); }),
    Scene("RD-05d", "pending signals, of which a user has one stock",
          [](TestBed& bed) { return SharedStock(bed, "timers"); }),
    Scene("RD-06", "processor hog", CpuSpin),
    {"RD-06b", "real-time scheduling, negative nice, real-time I/O", "priority", nullptr,
     Site::kBare, MayNotScheduleOutside},
    Scene("RD-08", "output flood", OutputFlood),
    Scene("RD-08b", "output flood that nobody reads", SlowReader),
    Scene("RD-11", "stopped and deaf processes against the wall time", Dodger),
};

constexpr Promise kPromises[] = {{"limits hold, and everybody else goes on", kLimits}};

}  // namespace

std::span<const Promise> ResourcePromises() { return kPromises; }

}  // namespace cloche::probe
