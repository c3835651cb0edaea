#include "service/run.h"

#include <errno.h>
#include <fmt/core.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/own_process.h"

namespace cloche::service {
namespace {

volatile sig_atomic_t passed_on = 0;

void Remember(int signal) { passed_on = signal; }

void Complain(const std::string& text) {
  const std::string line = "cloche-service: " + text + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

// mkdir with all its parents, which belong to nobody.
void MakeDirectory(const OwnDirectory& wanted) {
  for (size_t at = 1; (at = wanted.path.find('/', at)) != std::string::npos; ++at)
    mkdir(wanted.path.substr(0, at).c_str(), 0755);
  if (mkdir(wanted.path.c_str(), 0700) < 0) return;  // there already: not ours to change
  if (chown(wanted.path.c_str(), wanted.uid, wanted.gid) < 0 ||
      chmod(wanted.path.c_str(), wanted.mode) < 0)
    Complain(fmt::format("make {}: {}", wanted.path, strerror(errno)));
}

bool BecomeIts(const Program& program) {
  if (geteuid() != 0 || (program.uid == 0 && program.groups.empty()))
    return geteuid() == program.uid;
  std::vector<gid_t> groups(program.groups.begin(), program.groups.end());
  return setgroups(groups.size(), groups.data()) == 0 && setgid(program.gid) == 0 &&
         setuid(program.uid) == 0;
}

[[noreturn]] void Become(const Program& program) {
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (!BecomeIts(program)) {
    Complain(fmt::format("become user {}: {}", program.uid, strerror(errno)));
    _exit(125);
  }
  std::vector<char*> argv;
  for (const std::string& argument : program.argv)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(program.path.c_str(), argv.data());
  Complain(fmt::format("run {}: {}", program.path, strerror(errno)));
  _exit(errno == ENOENT ? 127 : 126);
}

bool AnswersEverywhere(const Program& program) {
  const Protocol protocol = ProtocolOf(program.path);
  for (const Address& address : program.addresses)
    if (!Answers(address, protocol)) return false;
  return true;
}

int StatusOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int RunProgram(const Program& program) {
  for (const OwnDirectory& directory : program.directories) MakeDirectory(directory);
  sys::AdoptOrphans();  // one that daemonizes is waited for all the same
  struct sigaction remember {};
  remember.sa_handler = Remember;  // without SA_RESTART: it ends a wait
  sigaction(SIGTERM, &remember, nullptr);
  sigaction(SIGINT, &remember, nullptr);
  const pid_t child = fork();
  if (child < 0) {
    Complain(fmt::format("start {}: {}", program.path, strerror(errno)));
    return 125;
  }
  if (child == 0) Become(program);
  int exit_status = 0;
  bool ready = false;
  for (useconds_t pause = 5'000;;) {
    if (passed_on != 0) {
      kill(child, passed_on);
      passed_on = 0;
    }
    int status = 0;
    const pid_t ended = waitpid(-1, &status, ready ? 0 : WNOHANG);
    if (ended == child) exit_status = StatusOf(status);
    if (ended < 0 && errno == ECHILD) break;
    if (ended != 0 || ready) continue;
    if (AnswersEverywhere(program)) {
      ready = true;
      (void)!write(STDOUT_FILENO, "ready\n", 6);
      continue;
    }
    usleep(pause);
    pause = std::min(pause * 2, useconds_t{100'000});
  }
  return !ready && exit_status == 0 ? 1 : exit_status;
}

}  // namespace cloche::service
