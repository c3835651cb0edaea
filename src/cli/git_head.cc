#include "cli/git_head.h"

#include <unistd.h>

#include <fcntl.h>

#include "sys/fd.h"

namespace cloche::cli {
namespace {

constexpr size_t kMostRefs = 4 << 20;

std::string ReadText(const std::string& path) {
  const sys::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  char buffer[16 << 10];
  ssize_t size = 0;
  while (file.valid() && text.size() < kMostRefs &&
         (size = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(size));
  return text;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

bool IsCommit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string Below(const std::string& directory, const std::string& path) {
  return path.starts_with('/') ? path : directory + "/" + path;
}

}  // namespace

std::string HeadCommit(const std::string& project) {
  if (project.empty()) return "";
  std::string git = project + "/.git";
  // Of a worktree or submodule it is a file that says where.
  if (const std::string link = FirstLine(ReadText(git)); link.starts_with("gitdir: "))
    git = Below(project, link.substr(8));
  const std::string head = FirstLine(ReadText(git + "/HEAD"));
  if (!head.starts_with("ref: ")) return IsCommit(head) ? head : "";
  const std::string ref = head.substr(5);
  if (ref.find("..") != std::string::npos) return "";
  std::string common = git;
  if (const std::string other = FirstLine(ReadText(git + "/commondir")); !other.empty())
    common = Below(git, other);
  if (const std::string commit = FirstLine(ReadText(common + "/" + ref)); IsCommit(commit))
    return commit;
  const std::string packed = ReadText(common + "/packed-refs");
  const size_t at = packed.find(" " + ref + "\n");
  if (at == std::string::npos || at < 40) return "";
  const size_t start = packed.rfind('\n', at) + 1;  // npos + 1 = 0
  const std::string commit = packed.substr(start, at - start);
  return IsCommit(commit) ? commit : "";
}

}  // namespace cloche::cli
