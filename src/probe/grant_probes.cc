#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "probe/kept.h"
#include "probe/probe.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

// The two ways to give a directory to be read only.
std::vector<Words> ReadOnlyGrants(const TestBed& bed, const std::string& directory) {
  return {{"run", "-q", "--ro", directory},
          {"run", "-q", "--declared", "--input", directory, "--input", bed.attack()}};
}

// A read-only mount does not keep anybody from connecting to a socket or writing to a FIFO in it.
ProbeResult GrantedSockets(TestBed& bed) {
  const std::string granted = bed.base() + "/granted";
  mkdir(granted.c_str(), 0755);
  Ears ears(bed.token(), {granted});
  RunToEnd(bed.Outside("path-sockets", ears.paths()));
  if (ears.Heard().empty()) return NoControl();
  for (const Words& grant : ReadOnlyGrants(bed, granted)) {
    const Ran ran = RunToEnd(bed.Inside(grant, "path-sockets", ears.paths()));
    if (const Words heard = ears.Heard(); !heard.empty())
      return Broken(fmt::format("{}: {}", grant[2], Join(heard)));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  return Held();
}

// Everything that a change of a file's content or attributes leaves in its inode.
std::string Trace(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return "gone";
  return fmt::format("{} {} {} {} {}.{} {}", info.st_ino, info.st_mode, info.st_uid, info.st_nlink,
                     info.st_ctim.tv_sec, info.st_ctim.tv_nsec, ReadAll(path));
}

ProbeResult GrantedMetadata(TestBed& bed) {
  const std::string granted = bed.base() + "/metadata", path = granted + "/file";
  mkdir(granted.c_str(), 0755);
  const auto plant = [&] {
    unlink((path + "-link").c_str());
    unlink(path.c_str());
    std::ofstream(path) << "as it is";
    return Trace(path);
  };
  std::string before = plant();
  RunToEnd(bed.Outside("change-metadata", {path}));
  if (Trace(path) == before) return NoControl();
  before = plant();
  for (const Words& grant : ReadOnlyGrants(bed, granted)) {
    const Ran ran = RunToEnd(bed.Inside(grant, "change-metadata", {path}));
    if (Trace(path) != before) return Broken(fmt::format("{}: the host's file changed", grant[2]));
    if (const Words evidence = bed.Evidence(ran); !evidence.empty())
      return Broken(fmt::format("{}: {}", grant[2], Join(evidence)));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  return Held();
}

// The daemon's own children, of which one sees the pool.
Words PoolPaths(const TestBed& bed) {
  Words tops = {bed.state_directory()};
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", bed.daemon_pid()));
  for (std::string pid; children >> pid;)
    tops.push_back(fmt::format("/proc/{}/root{}", pid, bed.state_directory()));
  return tops;
}

// An upper is on the host's disk: a set-user-id file in it must be out of everybody's reach.
ProbeResult UpperPrograms(TestBed& bed) {
  if (!bed.root()) return NotHere("needs root, to be another user on the host");
  const std::string name = "program-" + bed.token(), own = bed.base() + "/" + name;
  RunToEnd(bed.Outside("make-set-user-id", {own}));
  if (RunToEnd(bed.Outside("set-user-id", {own})).report["got"].empty()) return NoControl();
  unlink(own.c_str());
  const Ran made = RunToEnd(
      bed.Inside({"exec", "-q", bed.sandbox()}, "make-set-user-id", {bed.project() + "/" + name}));
  if (!made.Reported()) return DidNotRun(made);
  if (!made.report.value("made", false)) return Inconclusive("none could be made inside");
  Words found;
  for (const std::string& top : PoolPaths(bed))
    Walk(top, 24, [&](const std::string& path) {
      if (fs::path(path).filename() == name) found.push_back(path);
    });
  if (found.empty()) return Inconclusive("its file in the upper was not found");
  const Ran ran = RunToEnd(bed.Outside("set-user-id", found));
  if (!ran.Reported()) return DidNotRun(ran);
  if (!ran.report["got"].empty()) return Broken(ran.report["got"][0]);
  return Held(fmt::format("in the upper, and another user gets nothing from it"));
}

// A lock shows to every process that tries to take the same: locks of the host or of another
// sandbox must not show to a sandbox.
ProbeResult LocksOfOthers(TestBed& bed) {
  const std::string granted = bed.base() + "/locks", file = granted + "/file";
  mkdir(granted.c_str(), 0755);
  std::ofstream(file) << "of both";
  Words files = bed.sentinels();
  files.insert(files.end(), {file, "/etc/passwd", "/etc/hosts", "/bin/sh"});
  const Kept first(bed, "-locks", {"--ro", granted}), second(bed, "-waits", {"--ro", granted});
  for (const Kept* each : {&first, &second})
    if (!each->there()) return DidNotRun(each->made());
  const auto found = [](const Ran& ran) { return ran.report["got"]; };
  for (const bool outside : {true, false}) {
    Running holder(outside ? bed.Outside("hold-locks", files)
                           : bed.Inside(first.way_in(), "hold-locks", files));
    if (!holder.WaitForLine("ready")) return DidNotRun(holder.Finish());
    const Ran control =
        outside ? RunToEnd(bed.Outside("find-locks", files)) : first.Run("find-locks", files);
    if (!control.Reported()) return DidNotRun(control);
    if (found(control).size() < 2 * files.size())
      return NoControl(outside ? "" : "not even the same sandbox hears of its locks");
    for (const Kept* each : {&first, &second}) {
      if (!outside && each == &first) continue;
      const Ran ran = each->Run("find-locks", files);
      if (!ran.Reported()) return DidNotRun(ran);
      if (ran.report["refused"] != files.size()) return NoControl("it does not see all files");
      if (!found(ran).empty())
        return Broken(fmt::format("{}: {}", outside ? "of the host" : "of another sandbox",
                                  found(ran)[0].get<std::string>()));
    }
  }
  return Held(fmt::format("{} files, of the host and of another sandbox", files.size()));
}

Words Sentinels(const TestBed& bed, Site) { return bed.sentinels(); }
const char* KernelIsMended(const TestBed&) { return "works only on a kernel with these bugs"; }

constexpr Probe kShared[] = {
    Scene("FS-21", "set-user-id files of an upper, run by others on the host", UpperPrograms),
    {"FS-31", "page cache of shared files: dirty COW, dirty pipe", "page-cache", Sentinels,
     Site::kBare, KernelIsMended},
    Scene("FS-32b", "sockets and FIFOs in directories given read-only", GrantedSockets),
    Scene("NE-29", "locks of shared files as a channel between sandboxes", LocksOfOthers),
    Scene("PK-29", "mode, owner, times, attributes of files given read-only", GrantedMetadata),
};

constexpr Promise kPromises[] = {{"what is shared with the host stays as it is", kShared}};

}  // namespace

std::span<const Promise> GrantPromises() { return kPromises; }

}  // namespace cloche::probe
