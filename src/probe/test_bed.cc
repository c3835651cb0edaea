#include "probe/test_bed.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "probe/api.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSentinelText = "this file stays as it is\n";

std::string RandomHex() {
  uint64_t words[2] = {};
  (void)!getrandom(words, sizeof words, 0);
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

std::string ExecutablePath() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

std::string FindCli() {
  const fs::path directory = fs::path(ExecutablePath()).parent_path();
  for (const fs::path& path : {directory / "cloche", directory / "../../bin/cloche"})
    if (access(path.c_str(), X_OK) == 0) return path.lexically_normal();
  return "";
}

// Of the password database, as the policy reads it; getpwuid cannot be linked statically.
std::string HomeOfUser() {
  std::ifstream users("/etc/passwd");
  for (std::string line; std::getline(users, line);) {
    Words field(7);
    std::istringstream rest(line);
    for (std::string& each : field) std::getline(rest, each, ':');
    if (field[2] == std::to_string(geteuid())) return field[5];
  }
  return "";
}

}  // namespace

const char* SiteName(Site place) {
  switch (place) {
    case Site::kBare:
      return "outside";
    case Site::kNamespaces:
      return "in throw-away namespaces";
    case Site::kRun:
      return "run";
    case Site::kExec:
      return "exec";
    case Site::kTerminal:
      return "terminal";
    case Site::kDirectory:
      return "dir base";
  }
  return "";
}

Words DaemonSockets() {
  Words sockets = {"/run/cloche/cloched.sock",
                   fmt::format("/tmp/cloche-{}/cloched.sock", geteuid())};
  if (const char* runtime = getenv("XDG_RUNTIME_DIR"))
    sockets.push_back(std::string(runtime) + "/cloche/cloched.sock");
  if (const char* own = getenv("CLOCHE_RUNTIME_DIR"))
    sockets.push_back(std::string(own) + "/cloched.sock");
  if (const char* given = getenv("CLOCHE_SOCKET")) sockets.push_back(given);
  return sockets;
}

Result<std::unique_ptr<TestBed>> TestBed::Set() {
  std::unique_ptr<TestBed> bed(new TestBed);
  bed->root_ = geteuid() == 0;
  bed->cli_ = FindCli();
  if (bed->cli_.empty())
    return Fail(Code::kUnavailable, "find cloche: it is not installed beside cloche-probe",
                "install Cloche completely (make install)");
  CLOCHE_TRY(bed->Plant());
  CLOCHE_TRY(bed->StartSandbox());
  return bed;
}

Status TestBed::Plant() {
  token_ = "p" + RandomHex().substr(0, 12);
  // Not in /tmp: where that is a tmpfs, old kernels cannot copy it.
  base_ = "/var/tmp/cloche-probe-" + token_;
  project_ = base_ + "/project";
  hidden_ = base_ + "/hidden";
  attack_ = base_ + "/attack";
  std::error_code error;
  for (const std::string& path : {project_ + "/sentinel", hidden_, base_ + "/root" + project_})
    if (!fs::create_directories(path, error))
      return Fail(Code::kUnavailable, fmt::format("make {}: {}", path, error.message()));
  for (const char* name : {"proc", "dev", "tmp", "run", "etc", "sys", "var", "usr", "root", "home"})
    fs::create_directories(base_ + "/root/" + name, error);
  fs::copy_file(ExecutablePath(), attack_, error);
  if (!error) fs::copy_file(ExecutablePath(), base_ + "/root" + attack_, error);
  if (error) return Fail(Code::kUnavailable, fmt::format("copy myself: {}", error.message()));

  PlantFlag(hidden_ + "/flag", 0644);
  fs::create_directories(project_ + "/.git", error);  // patterns hide in projects only
  PlantFlag(project_ + "/.env", 0644);
  if (root_) PlantFlag("/run/cloche-" + token_, 0644);
  if (const std::string home = HomeOfUser(); home.size() > 1 && access(home.c_str(), W_OK) == 0) {
    const std::string keys = home + "/.ssh";
    if (mkdir(keys.c_str(), 0700) == 0) made_directories_.push_back(keys);
    PlantFlag(keys + "/cloche-" + token_, 0600);
  }
  for (const char* name : {"a", "b", "c"}) sentinels_.push_back(project_ + "/sentinel/" + name);
  RestoreSentinels();
  for (const char* program : {"/usr/bin/su", "/usr/bin/passwd", "/usr/bin/sudo"})
    if (access(program, X_OK) == 0) set_user_id_programs_.push_back(program);
  if (root_) {
    const std::string own = base_ + "/set-user-id";
    fs::copy_file(attack_, own, error);
    chmod(own.c_str(), 04755);
    set_user_id_programs_.insert(set_user_id_programs_.begin(), own);
  }
  ears_ = std::make_unique<Ears>(token_, Words{project_, base_, "/tmp"});

  const std::string marker = "flag-" + RandomHex();
  flags_.push_back({marker, "System V shared memory"});
  shm_key_ = static_cast<int>(strtoul(token_.substr(1, 7).c_str(), nullptr, 16));
  shm_id_ = shmget(shm_key_, 4096, IPC_CREAT | IPC_EXCL | 0600);
  if (void* memory = shmat(shm_id_, nullptr, 0); memory != reinterpret_cast<void*>(-1)) {
    memcpy(memory, marker.data(), marker.size());
    shmdt(memory);
  }
  shm_file_ = "/dev/shm/" + token_;
  PlantFlag(shm_file_, 0644);

  const std::string secret = "flag-" + RandomHex();
  flags_.push_back({secret, "the arguments of a process"});
  victim_ = std::make_unique<Running>(Launch{.argv = {attack_, "--attack", "victim", secret}});
  if (!victim_->WaitForLine("r")) return Fail(Code::kInternal, "start the victim: it said nothing");
  host_state_ = HostState();
  return {};
}

Status TestBed::StartSandbox() {
  const Ran made = RunToEnd(Cli({"new", "--json", "--name", token_, "--hide", hidden_}));
  if (made.status != 0) return Fail(Code::kUnavailable, made.LastError());
  const auto view = nlohmann::json::parse(made.output, nullptr, false);
  if (view.is_object()) mode_ = view.value("mode", "");
  const auto status =
      nlohmann::json::parse(RunToEnd(Cli({"status", "--json"})).output, nullptr, false);
  if (status.is_object()) {
    state_directory_ = status.value("state_dir", "");
    daemon_pid_ = status.value("pid", 0);
  }
  for (const std::string& path : DaemonSockets())
    if (ServerOf(path) == daemon_pid_) socket_ = path;
  const std::string path = state_directory_ + "/flag-" + token_;
  if (access(state_directory_.c_str(), W_OK) == 0) PlantFlag(path, 0644);
  return {};
}

TestBed::~TestBed() {
  // Also those of scenes that gave up half-way.
  const auto list =
      nlohmann::json::parse(RunToEnd(Cli({"ls", "--all", "--json"})).output, nullptr, false);
  if (list.is_array())
    for (const auto& sandbox : list)
      if (const std::string name = sandbox.value("name", ""); name.starts_with(token_))
        RunToEnd(Cli({"rm", name}));
  victim_.reset();
  ears_.reset();
  shmctl(shm_id_, IPC_RMID, nullptr);
  for (const std::string& path : flag_files_) unlink(path.c_str());
  for (const std::string& path : made_directories_) rmdir(path.c_str());
  std::error_code error;
  if (base_.starts_with("/var/tmp/cloche-probe-")) fs::remove_all(base_, error);
}

Words TestBed::marker_directories() const {
  return {"/etc",     "/etc/cron.d", "/etc/profile.d", "/usr/bin", "/usr/local/bin", "/opt",
          "/var/lib", "/root",       "/home",          "/tmp",     "/var/tmp",       project_,
          base_,      HomeOfUser()};
}

Launch TestBed::Cli(Words words) const {
  words.insert(words.begin(), cli_);
  return {.argv = std::move(words), .directory = project_};
}

Words TestBed::Attack(const std::string& name, const Words& words) const {
  Words argv = {attack_, "--attack", name};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

Launch TestBed::Inside(Words options, const std::string& attack, const Words& words) const {
  options.push_back("--");
  const Words argv = Attack(attack, words);
  options.insert(options.end(), argv.begin(), argv.end());
  return Cli(std::move(options));
}

Launch TestBed::At(Site place, const std::string& name, const Words& words) const {
  Words options;
  switch (place) {
    case Site::kBare:
    case Site::kNamespaces:
      return {.argv = Attack(name, words),
              .directory = project_,
              .namespaces = place == Site::kNamespaces};
    case Site::kRun:
      options = {"run", "-q", "-T", "--hide", hidden_};
      break;
    case Site::kTerminal:
      options = {"run", "-q", "-t", "--hide", hidden_};
      break;
    case Site::kExec:
      options = {"exec", "-q", "-T", token_};
      break;
    case Site::kDirectory:
      options = {"run", "-q", "-T", "--base", "dir:" + base_ + "/root"};
      break;
  }
  Launch launch = Inside(std::move(options), name, words);
  launch.terminal = place == Site::kTerminal;
  return launch;
}

std::string TestBed::PlantFlag(const std::string& path, mode_t mode) {
  const std::string flag = "flag-" + RandomHex();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return "";
  fchmod(fd, mode);
  (void)!write(fd, flag.data(), flag.size());
  close(fd);
  flags_.push_back({flag, path});
  flag_files_.push_back(path);
  return flag;
}

void TestBed::RemoveFlag(const std::string& path) {
  unlink(path.c_str());
  std::erase(flag_files_, path);
  std::erase_if(flags_, [&](const Flag& flag) { return flag.where == path; });
}

bool TestBed::HasFlag(const std::string& text) const {
  return std::ranges::any_of(flags_,
                             [&](auto& flag) { return text.find(flag.text) != std::string::npos; });
}

void TestBed::RestoreSentinels() {
  for (const std::string& path : sentinels_) {
    unlink(path.c_str());
    std::ofstream(path) << kSentinelText;
    chmod(path.c_str(), 0644);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project_, error))
    if (entry.path().filename().string().starts_with("link-")) fs::remove(entry.path(), error);
}

bool TestBed::SentinelsChanged() const {
  return std::ranges::any_of(sentinels_, [](const std::string& path) {
    struct stat info {};
    return lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1 ||
           (info.st_mode & 07777) != 0644 || ReadAll(path) != kSentinelText;
  });
}

std::set<std::string> TestBed::Modules() const {
  std::set<std::string> names;
  std::ifstream modules("/proc/modules");
  for (std::string line; std::getline(modules, line);) names.insert(line.substr(0, line.find(' ')));
  return names;
}

std::string TestBed::HostState() const {
  return ReadAll("/proc/sys/kernel/core_pattern") + ReadAll("/proc/sys/kernel/modprobe") +
         ReadAll("/proc/sys/kernel/hostname") + ReadAll("/proc/sys/kernel/domainname");
}

void TestBed::Settle() {
  do {
    poll(nullptr, 0, 20);
  } while (!victim_->TakeOutput().empty());
}

Words TestBed::Evidence(const Ran& ran) {
  Words evidence;
  for (const Flag& flag : flags_)
    if (ran.output.find(flag.text) != std::string::npos)
      evidence.push_back("read the flag in " + flag.where);
  if (ran.Reported())
    for (const auto& what : ran.report["got"]) evidence.push_back(what);
  for (std::string& visit : ears_->Heard()) evidence.push_back(std::move(visit));
  if (SentinelsChanged()) {
    evidence.push_back("a file of the host changed");
    RestoreSentinels();
  }
  for (const std::string& directory : marker_directories()) {
    const std::string path = directory + "/" + token_ + "-marker";
    if (unlink(path.c_str()) == 0) evidence.push_back("wrote " + path + " on the host");
  }
  if (!victim_->Alive()) evidence.push_back("a process of the host died");
  if (victim_->TakeOutput().find('u') != std::string::npos)
    evidence.push_back("a signal reached a process of the host");
  if (ReadAll("/proc/self/mountinfo", 4 << 20).find(base_) != std::string::npos)
    evidence.push_back("a mount appeared on the host");
  if (HostState() != host_state_) evidence.push_back("the host's kernel settings changed");
  return evidence;
}

}  // namespace cloche::probe
