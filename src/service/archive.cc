#include "service/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/side_store_name.h"
#include "base/text.h"
#include "service/btrfs_snapshot.h"
#include "service/draft.h"
#include "sys/fd.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cloche::service {
namespace {

constexpr size_t kMostComplaints = 64 << 10;

// Only returns when it cannot be started.
void BecomeTar(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char language[] = "LC_ALL=C";
  char* environment[] = {language, nullptr};
  for (const char* program : {"/usr/bin/tar", "/bin/tar"})
    execve(program, argv.data(), environment);
}

// Attributes beside those that only a whole machine has a use for.
void AddAttributes(std::vector<std::string>& words) {
  for (const char* word : {"--numeric-owner", "--acls", "--xattrs", "--xattrs-include=user.*",
                           "--xattrs-include=security.capability"})
    words.emplace_back(word);
}

// Runs tar, collects what it writes to the descriptor `stream`, and returns its exit status or -1.
int RunTar(std::vector<std::string> words, int stream, int directory, std::string& written) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  sys::Fd read_end(ends[0]), write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    if (dup2(write_end.get(), stream) < 0) _exit(125);
    if (directory >= 0 && fchdir(directory) < 0) _exit(125);
    BecomeTar(std::move(words));
    _exit(127);
  }
  write_end.Reset();
  sys::ReadAll(read_end.get(), written, kMostComplaints);
  read_end.Reset();
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

bool CanPack() {
  std::string version;
  return RunTar({"tar", "--version"}, STDOUT_FILENO, -1, version) == 0 &&
         version.find("GNU tar") != std::string::npos;
}

Status Pack(const std::string& directory, const std::vector<std::string>& leave_out) {
  const sys::Fd data(sys::OpenWithoutSymlinks(directory.c_str(), O_RDONLY | O_DIRECTORY));
  if (!data.valid()) return CopyFailed("read", directory, -data.get());
  if (fchdir(data.get()) < 0) return CopyFailed("read", directory, errno);
  std::vector<std::string> words = {"tar",           "--create", "--file=-",
                                    "--format=pax",  "--sparse", "--one-file-system",
                                    "--warning=none"};
  AddAttributes(words);
  for (const char* word : {"--no-wildcards", "--no-anchored"}) words.emplace_back(word);
  words.push_back(std::string("--exclude=") + kSideStoreName);
  words.push_back(std::string("--exclude=") + kSnapshotsName);
  words.emplace_back("--anchored");
  for (const std::string& path : leave_out) words.push_back("--exclude=./" + path);
  words.emplace_back(".");
  BecomeTar(std::move(words));
  return CopyFailed("start", "tar", errno);
}

Status Unpack(const std::string& path, size_t number) {
  ASSIGN_OR_RETURN(const Draft draft, Draft::Begin(path, number));
  std::vector<std::string> words = {
      "tar",          "--extract",          "--file=-",
      "--same-owner", "--same-permissions", "--delay-directory-restore"};
  AddAttributes(words);
  std::string complaints;
  const int status = RunTar(std::move(words), STDERR_FILENO, draft.copy(), complaints);
  if (status == 0) return {};
  for (const int known : {ENOSPC, EDQUOT, EPERM, EROFS})
    if (complaints.find(strerror(known)) != std::string::npos)
      return CopyFailed("copy", path, known);
  return Fail(Code::kUnavailable,
              fmt::format("copy {}: tar: {}", EscapeForTerminal(path),
                          EscapeForTerminal(complaints.substr(0, complaints.find('\n')))));
}

Status Place(const std::vector<std::string>& paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    ASSIGN_OR_RETURN(const Draft draft, Draft::Resume(paths[i], i));
    CLOCHE_TRY(draft.PutInPlace());
  }
  return {};
}

}  // namespace cloche::service
