#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "probe/api.h"
#include "probe/probe.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

// A report that came through the API instead of a pipe.
Ran FromApi(const Answer& answer) {
  Ran ran;
  if (answer.status == 0 || !answer.body.is_object()) return ran;
  ran.ended = true;
  ran.status = answer.body.value("exit_status", 125);
  ran.output = answer.body.value("stdout", "");
  ran.errors = answer.body.value("stderr", "");
  return ran;
}

// CVE-2024-21626: a working directory that leads through a descriptor the runtime left open.
ProbeResult WorkingDirectories(TestBed& bed) {
  Launch control = bed.Outside("read-here", {"flag"});
  control.directory = bed.hidden();
  if (bed.Evidence(RunToEnd(control)).empty()) return NoControl();
  if (bed.socket().empty()) return Inconclusive("the daemon's socket was not found");
  Words places = {"/proc/1/cwd",    "/proc/1/root",  "/proc/self/root/..",
                  "/proc/self/cwd", "/proc/self/fd", "/dev/fd",
                  "/dev/pts"};
  for (int fd = 0; fd < 128; ++fd)
    for (const char* form : {"/proc/self/fd/{}", "/proc/1/fd/{}", "/proc/self/fd/{}/../../.."})
      places.push_back(fmt::format(fmt::runtime(form), fd));
  int entered = 0, refused = 0;
  for (const std::string& place : places) {
    if (interrupted) break;
    const Answer answer =
        Post(bed.socket(), "/v1/sandboxes/" + bed.sandbox() + "/commands",
             {{"argv", bed.Attack("read-here", bed.flag_files())}, {"cwd", place}});
    Ran ran = FromApi(answer);
    if (!ran.ended) return Inconclusive(place + ": no answer");
    const bool ran_there = ran.output.find("\"attack\"") != std::string::npos;
    if (bed.HasFlag(ran.output) || ran.output.find("stands outside") != std::string::npos)
      return Broken(fmt::format("{} leads out", place));
    ++(ran_there ? entered : refused);
  }
  return Held(fmt::format("{} refused, {} stay inside", refused, entered));
}

// Names that mean something to mount options, shells and formats.
ProbeResult OddNames(TestBed& bed) {
  const std::string marker = bed.token() + "-marker";
  for (const char* name : {"a:b", "x,upperdir=%2fetc", "back\\slash", "new\nline", "it's $HOME",
                           "%s%n", "--rw", "lowerdir=..", "\xff\xfe"}) {
    const std::string path = bed.base() + "/odd/" + name, text = fmt::format("here is {}", name);
    std::error_code error;
    fs::create_directories(path, error);
    std::ofstream(path + "/here") << text;
    const auto written = [&] { return unlink((path + "/" + marker).c_str()) == 0; };
    Launch launch = bed.Outside("use-directory", {marker});
    launch.directory = path;
    RunToEnd(launch);
    if (!written()) return NoControl(name);
    launch = bed.Inside({"run", "-q"}, "use-directory", {marker});
    launch.directory = path;
    Ran ran = RunToEnd(launch);
    if (written()) return Broken(fmt::format("{}: written on the host", name));
    if (const Words evidence = bed.Evidence(ran); !evidence.empty())
      return Broken(fmt::format("{}: {}", name, Join(evidence)));
    if (!ran.Reported() && ran.status == 125) continue;  // JSON has no way to say this name
    if (!ran.Reported()) return DidNotRun(ran);
    if (ran.report.value("data", "").find("here is") == std::string::npos)
      return Broken(fmt::format("{}: it shows another directory", name));
    // Given for real, it is that directory and no other.
    launch = bed.Inside({"run", "-q", "--rw", path}, "use-directory", {marker});
    launch.directory = path;
    ran = RunToEnd(launch);
    if (ran.Reported() && ran.report.value("wrote", false) != written())
      return Broken(fmt::format("{}: --rw leads to another directory", name));
  }
  return Held("9 names, copied and with --rw");
}

// Swaps a directory with a symlink as fast as the kernel lets it.
class Swapper {
 public:
  Swapper(const std::string& a, const std::string& b)
      : thread_([this, a, b] {
          while (!done_) renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
        }) {}
  ~Swapper() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

// A directory that is given away, replaced while a sandbox starts by a link to somewhere else.
ProbeResult SwappedDirectory(TestBed& bed) {
  constexpr int kStarts = 30;
  const std::string at = bed.base() + "/swap", given = at + "/given", link = at + "/link";
  const std::string elsewhere = bed.project() + "/sentinel", marker = bed.token() + "-marker";
  std::error_code error;
  fs::create_directories(given, error);
  fs::create_directory_symlink(elsewhere, link, error);
  const auto landed = [&] { return unlink((elsewhere + "/" + marker).c_str()) == 0; };
  ProbeResult outcome = Held(fmt::format("{} starts", kStarts));
  int started = 0;
  {
    const Swapper swapper(given, link);
    bool fired = false;
    for (int i = 0; i < 200 && !fired; ++i) {
      RunToEnd(bed.Outside("write-markers", {marker, given}));
      fired = landed();
    }
    if (!fired) return NoControl();
    for (int i = 0; i < kStarts && !interrupted; ++i) {
      const Ran ran = RunToEnd(
          bed.Inside({"run", "-q", "--rw", given}, "write-markers", {marker, given, link}));
      if (landed()) outcome = Broken("--rw wrote behind a link");
      started += ran.Reported() ? 1 : 0;
    }
  }
  if (started == 0) return Inconclusive("no sandbox started");
  // A link to a hidden path does not show it, swapped in or not.
  fs::remove_all(at, error);
  fs::create_directories(at, error);
  fs::create_directory_symlink(bed.hidden(), link, error);
  const Ran ran = RunToEnd(
      bed.Inside({"run", "-q", "--hide", bed.hidden(), "--ro", link}, "read-trees", {link}));
  if (bed.HasFlag(ran.output)) outcome = Broken("--ro of a link shows what is hidden");
  return outcome;
}

// A base made by an attacker: nothing that set-up makes or mounts may land behind its links.
ProbeResult HostileBase(TestBed& bed) {
  const std::string top = bed.base() + "/hostile";
  const auto touched = [&] {
    std::error_code error;
    bool found = false;
    for (const auto& entry : fs::directory_iterator(bed.hidden(), error))
      if (entry.path().filename() != "flag") found = fs::remove_all(entry.path(), error) > 0;
    return found;
  };
  int started = 0, refused = 0;
  for (const std::string place :
       {"dev", "proc", "tmp", "sys", "run", "etc", "root", "home", "dev/null", "dev/pts", "dev/shm",
        "etc/passwd", "etc/shadow", "etc/resolv.conf", "proc/sys", "proc/self"})
    for (const std::string before : {"", "../../../../../../../../../.."}) {
      const std::string root = fmt::format("{}/{}", top, started + refused);
      const fs::path at = root + "/" + place;
      std::error_code error;
      fs::create_directories(root + bed.project(), error);
      fs::create_hard_link(bed.attack(), root + bed.attack(), error);
      fs::create_directories(at.parent_path(), error);
      const bool is_file = place.starts_with("etc/") || place == "dev/null";
      fs::create_symlink(before + bed.hidden() + (is_file ? "/flag" : ""), at, error);
      if (place == "dev" && before.empty()) {  // what a careless set-up would do
        fs::create_directories(at / "shm", error);
        if (!touched()) return NoControl();
      }
      Words words = bed.flag_files();
      words.push_back("/" + place);
      const Ran ran =
          RunToEnd(bed.Inside({"run", "-q", "-T", "--base", "dir:" + root}, "read-flags", words));
      if (const Words evidence = bed.Evidence(ran); !evidence.empty())
        return Broken(fmt::format("{}: {}", place, Join(evidence)));
      if (touched()) return Broken(fmt::format("/{} as a link: set-up wrote behind it", place));
      if (!ran.Reported() && ran.status != 125) return DidNotRun(ran);
      ++(ran.Reported() ? started : refused);
    }
  if (started == 0) return Inconclusive("none of them started");
  return Held(fmt::format("{} bases start and stay inside, {} are refused", started, refused));
}

// A program that opens one of these and waits, waits for ever.
ProbeResult SlowFiles(TestBed& bed) {
  const std::string root = bed.base() + "/slow", project = root + bed.project();
  std::error_code error;
  for (const char* directory : {"/proc", "/dev", "/tmp", "/run", "/sys", "/etc", "/root"})
    fs::create_directories(root + directory, error);
  fs::create_directories(project, error);
  fs::create_hard_link(bed.attack(), root + bed.attack(), error);
  for (const std::string& path :
       {root + "/etc/passwd", root + "/etc/group", root + "/etc/shadow", root + "/etc/gshadow",
        root + "/etc/hostname", root + "/etc/resolv.conf", project + "/.git", project + "/.env",
        project + "/cloche.toml"})
    mkfifo(path.c_str(), 0666);
  const std::string fifo = project + "/.env";
  {
    Running control(bed.Outside("read-slowly", {fifo}));
    if (!control.WaitForLine("ready")) return NoControl();
    RunToEnd(bed.Outside("nothing", {}));
    if (!control.Alive()) return NoControl();
  }
  for (const bool as_base : {true, false}) {
    Words options = {"run", "-q"};
    if (as_base) options.insert(options.end(), {"--base", "dir:" + root});
    Launch launch = bed.Inside(options, "nothing", {});
    launch.directory = project;
    Running attack(launch);
    const std::string problem = Unresponsive(bed);
    const Ran ran = attack.Finish();
    if (!problem.empty()) return Broken(problem);
    if (!ran.ended) return Broken("a sandbox over slow files never starts");
    if (!ran.Reported() && ran.status != 125) return DidNotRun(ran);
  }
  return Held("FIFOs as passwd, shadow, resolv.conf, .git, .env: nobody waits");
}

Words Children(const std::string& pid) {
  Words found;
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (std::string child; list >> child;) found.push_back(child);
  return found;
}

// Variables that load code into programs that believe them.
ProbeResult Preloading(TestBed& bed) {
  const std::string library = bed.base() + "/preload-" + bed.token() + ".so";
  std::ofstream(library) << "not a library";
  Words variables;
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "GCONV_PATH", "LOCPATH",
                           "NODE_OPTIONS", "BASH_ENV", "PYTHONSTARTUP", "GLIBC_TUNABLES"})
    variables.push_back(fmt::format("{}={}", name, library));
  // The loader complains about what it would have loaded.
  const Ran control = RunToEnd({.argv = {"/bin/ls", "/dev/null"}, .environment = variables});
  if (control.errors.find(library) == std::string::npos) return NoControl();
  Words options = {"run", "-q"};
  for (const std::string& variable : variables) options.insert(options.end(), {"--env", variable});
  Launch launch = bed.Inside(options, "hold", {});
  launch.environment = variables;
  Running attack(launch);
  const std::string problem = Unresponsive(bed);
  Words runtime = {std::to_string(bed.daemon_pid())};
  for (size_t i = 0; i < runtime.size() && i < 64; ++i)
    for (const std::string& child : Children(runtime[i]))
      if (i < 2) runtime.push_back(child);  // spawn, and its keeper and inits
  int seen = 0;
  ProbeResult outcome = Held();
  for (const std::string& pid : runtime) {
    const std::string maps = ReadAll("/proc/" + pid + "/maps", 1 << 20);
    const std::string environment = ReadAll("/proc/" + pid + "/environ");
    seen += maps.empty() ? 0 : 1;
    if ((maps + environment).find(library) != std::string::npos)
      outcome = Broken(fmt::format("process {} of the runtime got it", pid));
  }
  const Ran ran = attack.Finish();
  if (!problem.empty()) return Broken(problem);
  if (ran.errors.find(library) != std::string::npos)
    outcome = Broken("the loader of a program of the runtime read it: " + ran.LastError());
  if (outcome.mark != Mark::kHeld) return outcome;
  if (!ran.Reported()) return DidNotRun(ran);
  if (seen == 0) return NotHere("the processes of root's daemon cannot be looked into");
  return Held(fmt::format("{} processes of the runtime looked at", seen));
}

// People who type `cloche` keep their terminal, whether the command gets one or not.
ProbeResult PersonsTerminal(TestBed& bed) {
  const auto shares = [&](Launch launch, Ran& ran) {
    launch.terminal = true;
    Running program(launch);
    const std::string id = "terminal " + program.terminal_id();
    ran = program.Finish();
    return ran.Reported() && ran.report.value("data", "").find(id + "\n") != std::string::npos;
  };
  Ran ran;
  if (!shares(bed.Outside("own-terminal", {}), ran)) return NoControl();
  for (const Words& options : {Words{"run", "-q", "-t"}, Words{"run", "-q", "-T"},
                               Words{"exec", "-q", "-t", bed.sandbox()}}) {
    if (shares(bed.Inside(options, "own-terminal", {}), ran))
      return Broken(fmt::format("{} {}: the command holds it", options[0], options[2]));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  return Held();
}

constexpr Probe kStarting[] = {
    Scene("FS-16b", "working directories through /proc/*/fd, cwd, root", WorkingDirectories),
    Scene("FS-23", "directories named a:b, x,upperdir=, newline, %n", OddNames),
    Scene("FS-24", "a given directory swapped with a link while sandboxes start", SwappedDirectory),
    Scene("FS-25", "bases whose /dev, /proc, /tmp, /etc lead to the host", HostileBase),
    Scene("FS-27", "FIFOs where set-up reads", SlowFiles),
    Scene("PK-13", "LD_PRELOAD and the like into the runtime", Preloading),
    Scene("PK-18", "the person's terminal as controlling terminal", PersonsTerminal),
};

constexpr Promise kPromises[] = {{"starting a sandbox believes nobody", kStarting}};

}  // namespace

std::span<const Promise> StartPromises() { return kPromises; }

}  // namespace cloche::probe
