#include "cli/helper_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/daemon_start.h"

namespace cloche::cli {

Result<HelperProcess> HelperProcess::Start(const std::string& name,
                                           std::vector<std::string> arguments) {
  const std::string program = FindSibling(name);
  if (program.empty())
    return Fail(Code::kUnavailable, fmt::format("find {}: it is not installed", name),
                "install Cloche whole: make install");
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0)
    return Fail(Code::kUnavailable, fmt::format("make a pipe: {}", strerror(errno)));
  sys::Fd in_read(in[0]), in_write(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0)
    return Fail(Code::kUnavailable, fmt::format("make a pipe: {}", strerror(errno)));
  sys::Fd out_read(out[0]), out_write(out[1]);
  arguments.insert(arguments.begin(), name);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in_read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out_write.get(), STDOUT_FILENO);
  HelperProcess helper;
  const int error =
      posix_spawn(&helper.pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    helper.pid_ = 0;
    return Fail(Code::kUnavailable, fmt::format("start {}: {}", program, strerror(error)));
  }
  helper.input_ = std::move(in_write);
  helper.output_ = std::move(out_read);
  return helper;
}

std::string HelperProcess::ReadLine() {
  for (;;) {
    if (const size_t end = pending_.find('\n'); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t got = read(output_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::exchange(pending_, "");
    pending_.append(buffer, static_cast<size_t>(got));
  }
}

bool HelperProcess::Finish() {
  input_ = sys::Fd();
  output_ = sys::Fd();  // it may wait for us to read
  int status = 0;
  if (pid_ > 0) waitpid(pid_, &status, 0);
  pid_ = 0;
  return status == 0;
}

}  // namespace cloche::cli
