#include "change/apply/birth_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/side_store_name.h"
#include "change/model/noise.h"
#include "change/rules/merge3.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

// cloche-git is installed beside this program.
std::string GitProgram() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return "";
  const std::string own(path, static_cast<size_t>(size));
  return own.substr(0, own.find_last_of('/') + 1) + "cloche-git";
}

struct Started {
  pid_t child = -1;
  sys::Fd to, from;
};

// The child inherits only the two pipes. `when_asked`: it executes the program on the first
// question, if one comes at all.
Started StartGit(const std::vector<std::string>& arguments, bool when_asked) {
  Started started;
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) < 0) return started;
  sys::Fd in_end(in[0]);
  started.to = sys::Fd(in[1]);
  if (pipe2(out, O_CLOEXEC) < 0) return started;
  const sys::Fd out_end(out[1]);
  started.from = sys::Fd(out[0]);
  const std::string program = GitProgram();
  std::vector<char*> argv = {const_cast<char*>("cloche-git")};
  for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  char* const environment[] = {nullptr};
  started.child = fork();
  if (started.child != 0) return started;
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (dup2(in_end.get(), 0) < 0 || dup2(out_end.get(), 1) < 0 || dup2(null, 2) < 0) _exit(127);
  sys::CloseFrom(3);
  pollfd question{0, POLLIN, 0};
  while (when_asked && poll(&question, 1, -1) < 0 && errno == EINTR) continue;
  if (when_asked && (question.revents & POLLIN) == 0) _exit(0);
  execve(program.c_str(), argv.data(), environment);
  _exit(127);
}

bool ReadWhole(int fd, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t size = read(fd, bytes, count);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes += size;
    count -= static_cast<size_t>(size);
  }
  return true;
}

bool IsSideStore(const std::string& path) {
  return (path + "/").find(std::string("/") + kSideStoreName + "/") != std::string::npos;
}

void Reap(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

Result<BirthNote> NoteBirth(const std::string& project, int64_t since_ns) {
  Started git = StartGit({"note", project, std::to_string(since_ns)}, false);
  git.to.Reset();
  std::string text;
  std::array<char, 4096> piece{};
  ssize_t size = 0;
  while (git.child > 0 && (size = read(git.from.get(), piece.data(), piece.size())) != 0) {
    if (size < 0 && errno != EINTR) break;
    if (size > 0) text.append(piece.data(), static_cast<size_t>(size));
  }
  if (git.child > 0) Reap(git.child);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("commit", "").empty())
    return Fail(Code::kNotFound, "note the base: there is no repository that can be relied on");
  return BirthNote{json.value("project", ""), json.value("commit", ""),
                   json.value("dirty", std::set<std::string>()), std::nullopt};
}

BirthFiles::~BirthFiles() {
  to_.Reset();
  from_.Reset();
  if (child_ > 0) Reap(child_);
}

void BirthFiles::Prepare() {
  if (child_ > 0 || failed_ || note_.commit.empty()) return;
  Started git = StartGit({"texts", note_.project, note_.commit}, true);
  child_ = git.child;
  to_ = std::move(git.to);
  from_ = std::move(git.from);
  failed_ = child_ <= 0;
}

std::optional<bool> BirthFiles::Had(const std::string& path) const {
  if (!note_.names || !path.starts_with(note_.project + "/")) return std::nullopt;
  const std::string below = path.substr(note_.project.size() + 1);
  // The names of git's own files and caches were not recorded, so "no" means "unknown" for them.
  const std::optional<bool> had = note_.names->Had(below);
  return had == false && change::Classify(path, note_.project, "") != change::Group::kReal
             ? std::nullopt
             : had;
}

std::optional<std::string> BirthFiles::Noted(const std::string& path) const {
  if (!note_.names || (path != note_.project && !path.starts_with(note_.project + "/")))
    return std::nullopt;
  return path == note_.project ? "" : path.substr(note_.project.size() + 1);
}

std::optional<bool> BirthFiles::HadAnything(const std::string& path) const {
  const std::optional<bool> file = Had(path);
  return file.value_or(true) ? file : HadDirectory(path);
}

std::optional<bool> BirthFiles::HadDirectory(const std::string& path) const {
  const auto below = Noted(path);
  const bool passed_over = (path + "/").find("/.git/") != std::string::npos || IsSideStore(path) ||
                           change::Classify(path, note_.project, "") != change::Group::kReal;
  return below && !passed_over ? note_.names->HadDirectory(*below) : std::nullopt;
}

std::optional<uint64_t> BirthFiles::DirectoryWas(const std::string& path) const {
  const auto below = Noted(path);
  return below ? note_.names->DirectoryWas(*below) : std::nullopt;
}

std::optional<uint32_t> BirthFiles::ModeWas(const std::string& path) const {
  const auto below = Noted(path);
  return below ? note_.names->ModeWas(*below) : std::nullopt;
}

std::optional<BirthFile> BirthFiles::Find(const std::string& path) {
  if (note_.commit.empty() || !path.starts_with(note_.project + "/")) return std::nullopt;
  const std::string below = path.substr(note_.project.size() + 1);
  if (below.size() >= PATH_MAX) return std::nullopt;  // git cannot hold such a path
  Prepare();
  if (failed_) return std::nullopt;
  std::optional<BirthFile> found = Ask(below);
  if (failed_) {
    to_.Reset();
    from_.Reset();
    Reap(child_);
    child_ = -1;
    return std::nullopt;
  }
  if (!found || !note_.dirty.contains(below)) return found;
  found->clean = false;
  return found->exists ? found : std::nullopt;  // unknown to git, but it may have been there
}

// Sends the length of the path and the path. The answer is a letter; for a file, length and text
// follow.
std::optional<BirthFile> BirthFiles::Ask(const std::string& below) {
  const auto length = static_cast<uint32_t>(below.size());
  std::string question(reinterpret_cast<const char*>(&length), sizeof length);
  question += below;
  char answer = 0;
  failed_ = !sys::WriteWhole(to_.get(), question) || !ReadWhole(from_.get(), &answer, 1);
  if (failed_) return std::nullopt;
  BirthFile file;
  switch (answer) {
    case 'a':
      return file;
    case 'f':
    case 'x':
      break;
    default:
      return std::nullopt;  // not a file, or not readable
  }
  file.exists = true;
  file.executable = answer == 'x';
  uint32_t size = 0;
  failed_ = !ReadWhole(from_.get(), reinterpret_cast<char*>(&size), sizeof size) ||
            size > rules::kMaxMergeBytes;
  if (failed_) return std::nullopt;
  file.text.resize(size);
  failed_ = !ReadWhole(from_.get(), file.text.data(), size);
  return failed_ ? std::nullopt : std::optional(file);
}

}  // namespace cloche::apply
