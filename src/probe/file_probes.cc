#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "probe/probe.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

Words Flags(const TestBed& bed, Site) { return bed.flag_files(); }

Words Victim(const TestBed& bed, Site place) {
  return IsControl(place) ? Words{bed.victim_pid()} : Words{bed.victim_pid(), "1"};
}

Words Markers(const TestBed& bed, Site place) {
  Words words = {bed.token() + "-marker"};
  const Words where = IsControl(place) ? Words{bed.project()} : bed.marker_directories();
  words.insert(words.end(), where.begin(), where.end());
  return words;
}

Words LinkTargets(const TestBed& bed, Site) {
  Words words = bed.sentinels();
  words.insert(words.begin(), bed.project());
  return words;
}

Words JailAndFlags(const TestBed& bed, Site) {
  Words words = bed.flag_files();
  words.insert(words.begin(), bed.project());
  return words;
}

Words Sentinels(const TestBed& bed, Site) { return bed.sentinels(); }

Words Nodes(const TestBed& bed, Site place) {
  return IsControl(place) ? Words{bed.project(), "light"} : Words{bed.project()};
}

Words MountTarget(const TestBed& bed, Site) { return {bed.project() + "/mount-here"}; }

Words HandlePlaces(const TestBed& bed, Site place) {
  if (place == Site::kNamespaces) return {bed.project() + "/own-mount"};
  return {".", "/", "/proc", "/dev/shm", "/tmp"};
}

Words Overlay(const TestBed& bed, Site) { return {bed.project(), bed.hidden()}; }

Words Listeners(const TestBed& bed, Site) { return bed.ears().paths(); }

Words SocketPlaces(const TestBed& bed, Site place) {
  if (IsControl(place)) return {bed.project()};
  return {"/run", "/var/run", "/tmp", "/var/tmp", "/var/lib",   "/var/spool", "/dev",
          "/srv", "/opt",     "/etc", "/home",    "/usr/local", "/mnt",       bed.base()};
}

Words StateTrees(const TestBed& bed, Site place) {
  Words trees = {bed.state_directory() + "/flag-" + bed.token()};
  if (IsControl(place)) return trees;
  for (const char* path : {"/var/lib/cloche", "/run/cloche"}) trees.push_back(path);
  trees.push_back(bed.state_directory());
  return trees;
}

const char* OnlyRootMaySetThem(const TestBed& bed) {
  return bed.root() ? nullptr : "an ordinary user cannot set trusted attributes outside either";
}

const char* DevIsBare(const TestBed&) {
  for (const auto& entry : fs::directory_iterator("/dev"))
    if (const auto name = entry.path().filename();
        name == "kmsg" || name == "console" || name == "kvm" || name == "fuse")
      return nullptr;
  return "this machine's own /dev holds nothing more";
}

const char* StateIsNotOurs(const TestBed& bed) {
  return access(bed.state_directory().c_str(), W_OK) == 0
             ? nullptr
             : "the daemon's state belongs to root, so no flag could be put there";
}

const char* NoSetUserIdPrograms(const TestBed& bed) {
  return bed.set_user_id_programs().empty() ? "no set-user-id program here" : nullptr;
}

// A child in a mount namespace of its own that still hears of the host's mounts.
template <typename Body>
int InSharedNamespace(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWNS) == 0 && body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

ProbeResult Propagation(TestBed& bed) {
  if (!bed.root()) return NotHere("only root can mount something on the host to look for");
  // Not below /var/tmp: a mount there is in the way of every rootless sandbox that works there.
  const std::string shared = "/mnt/cloche-probe-" + bed.token(), late = shared + "/late",
                    out = shared + "/out";
  mkdir(shared.c_str(), 0755);
  if (mount("probe", shared.c_str(), "tmpfs", 0, nullptr) != 0 ||
      mount(nullptr, shared.c_str(), nullptr, MS_SHARED, nullptr) != 0)
    return NotHere("this machine does not let root mount a tmpfs below /mnt");
  mkdir(late.c_str(), 0755);
  mkdir(out.c_str(), 0755);
  const auto mounted = [](const std::string& at) {
    return ReadAll("/proc/self/mountinfo", 4 << 20).find(at + " ") != std::string::npos;
  };
  ProbeResult outcome = Held();
  const std::string name = bed.token() + "m";
  InSharedNamespace([&] { return mount("probe", out.c_str(), "tmpfs", 0, nullptr) == 0; });
  if (!mounted(out)) outcome = NoControl("a shared namespace does not propagate here");
  umount2(out.c_str(), MNT_DETACH);
  const Ran made = RunToEnd(bed.Cli({"new", "--name", name}));
  if (made.status != 0) outcome = DidNotRun(made);
  mount("probe", late.c_str(), "tmpfs", 0, nullptr);
  bed.PlantFlag(late + "/flag", 0644);
  const auto exec = [&](const char* attack, const std::string& word) {
    return RunToEnd(bed.Inside({"exec", "-q", name}, attack, {word}));
  };
  if (outcome.mark == Mark::kHeld) {
    const Ran read = exec("read-trees", late);
    const Ran mounts = exec("mounts", out);
    if (bed.HasFlag(read.output)) outcome = Broken("a later mount of the host shows inside");
    if (mounted(out)) outcome = Broken("a mount from inside shows on the host");
    if (!read.Reported()) outcome = DidNotRun(read);
  }
  RunToEnd(bed.Cli({"rm", name}));
  bed.RemoveFlag(late + "/flag");
  umount2(late.c_str(), MNT_DETACH);
  umount2(shared.c_str(), MNT_DETACH);
  rmdir(shared.c_str());
  return outcome;
}

// The deletion of a sandbox must not walk along the links that it left.
ProbeResult Deletion(TestBed& bed) {
  const std::string copy = bed.project() + "/links", sentinel = bed.project() + "/sentinel";
  mkdir(copy.c_str(), 0755);
  RunToEnd(bed.Outside("plant-links", {copy, sentinel, bed.sentinels()[0]}));
  RunToEnd({.argv = {"/bin/rm", "-rf", copy + "/links-1/deep/er/dir/"}});
  for (const std::string& path : bed.sentinels())
    unlink((copy + "/links-1/deep/er/dir/" + fs::path(path).filename().string()).c_str());
  const bool fired = bed.SentinelsChanged();
  fs::remove_all(copy);
  mkdir(sentinel.c_str(), 0755);
  bed.RestoreSentinels();
  if (!fired) return NoControl();
  const std::string name = bed.token() + "d";
  Ran ran = RunToEnd(bed.Cli({"new", "--name", name}));
  if (ran.status != 0) return DidNotRun(ran);
  for (const std::string& where : {bed.project(), std::string("/tmp"), bed.base()}) {
    ran = RunToEnd(bed.Inside({"exec", "-q", name}, "plant-links",
                              {where + "/l", sentinel, bed.sentinels()[0], "/"}));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  ran = RunToEnd(bed.Cli({"rm", name}));
  if (ran.status != 0) return DidNotRun(ran);
  RunToEnd(bed.Inside({"run", "-q"}, "nothing", {}));
  return bed.SentinelsChanged() ? Broken("deleting a sandbox deleted files of the host") : Held();
}

ProbeResult Residue(TestBed& bed) {
  const std::string marker = "residue-" + bed.token() + "-marker";
  const Words places = {"/tmp", "/var/tmp", "/dev/shm", bed.project()};
  Words plant = {marker};
  plant.insert(plant.end(), places.begin(), places.end());
  const auto found = [&](const Ran& ran) { return ran.output.find(marker) != std::string::npos; };
  const std::string own = bed.base() + "/residue";
  mkdir(own.c_str(), 0755);
  RunToEnd(bed.Outside("plant-residue", {marker, own}));
  if (!found(RunToEnd(bed.Outside("find-residue", {own})))) return NoControl();
  fs::remove_all(own);
  const Words kept = {"exec", "-q", bed.sandbox()}, disposable = {"run", "-q"};
  const Ran planted = RunToEnd(bed.Inside(kept, "plant-residue", plant));
  if (!planted.Reported()) return DidNotRun(planted);
  if (!found(RunToEnd(bed.Inside(kept, "find-residue", places))))
    return NoControl("the sandbox does not find its own residue");
  for (int i = 0; i < 3; ++i) {
    RunToEnd(bed.Inside(disposable, "plant-residue", plant));
    const Ran searched = RunToEnd(bed.Inside(disposable, "find-residue", places));
    if (!searched.Reported()) return DidNotRun(searched);
    if (found(searched)) return Broken("a sandbox found what another left");
  }
  return Held();
}

// A system daemon reads as root; for others it must read only what they may read.
ProbeResult AskDeputy(TestBed& bed, const std::string& path) {
  constexpr uid_t kNobodyInParticular = 65533;
  const Words words = {path, "/etc/shadow", "/etc/gshadow"};
  if (bed.Evidence(RunToEnd(bed.At(Site::kBare, "read-flags", words))).empty()) return NoControl();
  for (const Site place : {Site::kBare, Site::kRun, Site::kDirectory}) {
    Launch launch = bed.At(place, "read-flags", words);
    launch.user = kNobodyInParticular;
    launch.environment = {"HOME=/", "CLOCHE_SOCKET=" + bed.socket()};
    const Ran ran = RunToEnd(launch);
    if (const Words evidence = bed.Evidence(ran); !evidence.empty())
      return Broken(fmt::format("{}: {}", SiteName(place), Join(evidence)));
    // Root's directory as a base is refused: that is not a confused deputy either.
    if (!ran.Reported() && place != Site::kDirectory) return DidNotRun(ran);
  }
  return Held("as an ordinary user of root's daemon");
}

ProbeResult Deputy(TestBed& bed) {
  if (!bed.root()) return NotHere("needs root, to be an ordinary user of root's daemon");
  const std::string path = bed.base() + "/root-only";
  bed.PlantFlag(path, 0600);
  const ProbeResult outcome = AskDeputy(bed, path);
  bed.RemoveFlag(path);  // root inside may read it: no flag for later probes
  return outcome;
}

constexpr Probe kReading[] = {
    {"FS-01", "hidden files by path, .., /proc/*/root, /proc/*/cwd, /proc/self/fd", "read-flags",
     Flags},
    {"FS-14", "other processes and kernel memory through /proc", "kernel-secrets", Victim},
    {"FS-15", "/sys: firmware, cgroups, debugfs", "walk-sys"},
    {"FS-16", "descriptors left open by whoever started it", "open-fds"},
    {"FS-18", "file handles with forged inode numbers", "handles", HandlePlaces, Site::kNamespaces},
    {"FS-33", "Cloche's state, other sandboxes' files", "read-trees", StateTrees, Site::kBare,
     StateIsNotOurs},
    Scene("FS-35", "what an earlier sandbox left in /tmp, /dev/shm", Residue),
    Scene("DEPUTY", "a 0600 file of root, through root's daemon", Deputy),
};

constexpr Probe kWriting[] = {
    {"FS-04", "new files in /etc, cron.d, profile.d, /usr/bin, home", "write-markers", Markers},
    {"FS-05", "hard links to files of the host", "hard-links", LinkTargets},
    {"FS-06", "write, map, punch, chmod, truncate, rename, delete", "change-files", Sentinels},
    {"FS-13", "/proc/sys, core_pattern, sysrq-trigger for writing", "writable-kernel-files",
     nullptr, Site::kNamespaces},
    {"FS-22", "forged overlay attributes", "overlay-attributes", Overlay, Site::kBare,
     OnlyRootMaySetThem},
    Scene("FS-29", "links that a deletion could follow", Deletion),
    {"FS-30", "memory, descriptors and root of other processes", "other-memory", Victim},
};

constexpr Probe kMounting[] = {
    {"FS-07", "device nodes of every major number", "device-nodes", Nodes},
    {"FS-08", "devices that are not null, zero, random or a terminal", "walk-dev", nullptr,
     Site::kBare, DevIsBare},
    {"FS-09", "mount, remount, bind, overlay, old and new calls", "mounts", MountTarget,
     Site::kNamespaces},
    {"FS-10", "unmount what hides something", "unmounts", nullptr, Site::kNamespaces},
    Scene("FS-11", "mounts from inside on the host, later ones of the host inside", Propagation),
    {"FS-19", "chroot out of a chroot", "double-chroot", JailAndFlags, Site::kNamespaces},
    {"FS-20", "set-user-id programs", "set-user-id",
     [](const TestBed& bed, Site) { return bed.set_user_id_programs(); }, Site::kBare,
     NoSetUserIdPrograms},
};

constexpr Probe kSockets[] = {
    {"FS-32", "sockets and FIFOs in copied directories", "path-sockets", Listeners},
    {"FS-17", "any socket in a file with somebody behind it", "find-sockets", SocketPlaces},
};

constexpr Promise kPromises[] = {
    {"no file outside the copy can be read", kReading},
    {"nothing outside the copy can be changed", kWriting},
    {"no device, no mount, no privilege", kMounting},
    {"no service of the host answers through a file", kSockets},
};

}  // namespace

std::span<const Promise> FilePromises() { return kPromises; }

}  // namespace cloche::probe
