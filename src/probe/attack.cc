#include "probe/attack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace cloche::probe {
namespace {

constexpr size_t kMostData = 256 * 1024;

void Nothing(Attempt&) {}

// Lives on the host with the flag in its argument list, and says which signals reach it.
void Victim(Attempt&) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  signal(SIGURG, [](int) { (void)!write(STDOUT_FILENO, "u", 1); });
  (void)!write(STDOUT_FILENO, "r", 1);
  for (;;) pause();
}

constexpr Attack kCommon[] = {{"nothing", Nothing}, {"victim", Victim}};

}  // namespace

Attempt::Attempt(std::string_view name, Words given) : words(std::move(given)) {
  report_["attack"] = name;
  report_["got"] = nlohmann::json::array();
}

void Attempt::Got(std::string what) {
  if (report_["got"].size() < 40) report_["got"].push_back(std::move(what));
}

bool Attempt::Try(const std::string& what, long result) {
  if (result < 0) {
    Refused();
    return false;
  }
  Got(what);
  return true;
}

void Attempt::Data(std::string_view text) {
  data_.append(text.substr(0, kMostData - std::min(kMostData, data_.size())));
}

void Attempt::ReadyAndHold() {
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

void Attempt::Print() {
  report_["refused"] = refused_;
  if (!data_.empty()) report_["data"] = data_;
  const std::string line =
      report_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = write(STDOUT_FILENO, rest.data(), rest.size());
    if (count <= 0) return;
    rest.remove_prefix(static_cast<size_t>(count));
  }
}

int RunAttack(std::string_view name, Words words) {
  signal(SIGPIPE, SIG_IGN);
  for (std::span<const Attack> attacks :
       {std::span<const Attack>(kCommon), FileAttacks(), ProcAttacks(), ProcessAttacks(),
        KernelAttacks(), NetworkAttacks(), BorderAttacks(), ResourceAttacks(), GrantAttacks(),
        StartAttacks(), StormAttacks()}) {
    for (const Attack& attack : attacks) {
      if (attack.name != name) continue;
      Attempt attempt(name, std::move(words));
      attack.run(attempt);
      attempt.Print();
      return 0;
    }
  }
  fprintf(stderr, "cloche-probe: no attack is called %s\n", std::string(name).c_str());
  return 2;
}

int InChild(void (*body)(Attempt&), Attempt& attempt) {
  int fds[2];
  if (pipe(fds) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(fds[0]);
    dup2(fds[1], STDOUT_FILENO);
    Attempt own("child", attempt.words);
    body(own);
    own.Print();
    _exit(0);
  }
  close(fds[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(fds[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const auto report = nlohmann::json::parse(text, nullptr, false);
  if (report.is_object()) {
    for (const auto& what : report["got"]) attempt.Got(what);
    for (int left = report["refused"]; left > 0; --left) attempt.Refused();
    if (report.contains("data")) attempt.Data(report["data"].get<std::string>());
  }
  return status;
}

void Walk(const std::string& top, int depth, const std::function<void(const std::string&)>& visit) {
  constexpr int kMostEntries = 50'000;
  std::error_code error;
  auto walk = std::filesystem::recursive_directory_iterator(
      top, std::filesystem::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && walk != end(walk) && seen < kMostEntries; walk.increment(error)) {
    ++seen;
    if (walk.depth() >= depth) walk.disable_recursion_pending();
    visit(walk->path());
  }
}

std::string ReadAll(const std::string& path, size_t most) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return text;
  char buffer[4096];
  for (ssize_t count; text.size() < most && (count = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(fd);
  return text;
}

}  // namespace cloche::probe
