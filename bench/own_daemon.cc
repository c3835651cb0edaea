#include "own_daemon.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

#include "program.h"

namespace cloche::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

pid_t ParentOf(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text, '\0');  // an iterator would throw when it is gone meanwhile
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return -1;
  return std::atoi(text.c_str() + name_end + 4);
}

bool Alive(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

std::vector<pid_t> Descendants(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos)
      children.emplace(ParentOf(name), std::atoi(name.c_str()));
  }
  std::vector<pid_t> found{ancestor};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto it = first; it != last; ++it) found.push_back(it->second);
  }
  return found;
}

OwnDaemon::OwnDaemon(std::string root) : root_(std::move(root)) {
  // cloched gives root up and still has to pass through here.
  chmod(root_.c_str(), 0711);
  mkdir(work().c_str(), 0755);
  mkdir((root_ + "/run").c_str(), geteuid() == 0 ? 0755 : 0700);
  setenv("CLOCHE_STATE_DIR", state().c_str(), 1);
  setenv("CLOCHE_RUNTIME_DIR", (root_ + "/run").c_str(), 1);
  unsetenv("CLOCHE_SOCKET");
  // Parts that measure other programs, or wait for a slow disk, can take longer than a daemon stays
  // without work. One that is gone is then one that died.
  setenv("CLOCHE_LEAVE_AFTER", "86400", 1);
  setenv("SSL_CERT_FILE", trusted().c_str(), 1);
}

OwnDaemon::~OwnDaemon() {
  Stop();
  std::error_code error;
  fs::remove_all(root_, error);
  if (error) fmt::print(stderr, "cloche-bench: {} stays: {}\n", root_, error.message());
}

std::string OwnDaemon::cloche() const { return Sibling("cloche"); }

void OwnDaemon::Start() {
  TimeSpawn({cloche(), "run", "--", FindProgram("true")});
  pid_ = nlohmann::json::parse(Capture({cloche(), "status", "--json"})).at("pid").get<pid_t>();
}

bool OwnDaemon::Runs() const { return pid_ > 0 && Alive(pid_); }

// Starts another, which has seen how that one ended.
std::string OwnDaemon::WhyGone() const {
  for (const auto& check :
       nlohmann::json::parse(Capture({cloche(), "doctor", "--json"})).at("checks"))
    if (check.at("name") == "daemon") return check.dump(2);
  return "";
}

void OwnDaemon::Stop() {
  if (pid_ <= 0) return;
  const std::vector<pid_t> all = Processes();
  kill(pid_, SIGTERM);
  for (const pid_t pid : all)
    for (int i = 0; i < 1000 && Alive(pid); ++i) std::this_thread::sleep_for(10ms);
  pid_ = -1;
}

void OwnDaemon::ForgetState() {
  std::error_code error;
  // The loop device lets go of the image a moment after the last process is gone.
  for (int i = 0; i < 100; ++i) {
    fs::remove_all(state(), error);
    if (!error) return;
    std::this_thread::sleep_for(10ms);
  }
  throw std::runtime_error(fmt::format("remove {}: {}", state(), error.message()));
}

std::vector<pid_t> OwnDaemon::Processes() const { return Descendants(pid_); }

nlohmann::json OwnDaemon::SandboxRequest() const {
  const char* home = getenv("HOME");
  const char* path = getenv("PATH");
  return {{"cwd", work()},
          {"home", home ? home : "/"},
          {"env",
           {fmt::format("PATH={}", path ? path : "/usr/bin:/bin"),
            fmt::format("HOME={}", home ? home : "/")}}};
}

}  // namespace cloche::bench
