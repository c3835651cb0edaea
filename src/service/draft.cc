#include "service/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/repairs_name.h"
#include "base/text.h"
#include "sys/directory.h"
#include "sys/process.h"

namespace cloche::service {
namespace {

constexpr const char* kDraft = ".cloche-copy-83fd02b7";  // nobody else's name, and a number
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMostAttempts = 100;

std::vector<std::string> EntriesOf(int directory) {
  std::vector<std::string> names;
  sys::Directory list(directory, ".");
  while (const dirent* entry = list.Next()) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace

std::unexpected<Error> CopyFailed(const char* verb, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  const char* cure =
      full              ? "give the sandbox more room: --disk SIZE"
      : error == EPERM  ? "something in there belongs to a user or group you cannot give files to; "
                          "root can"
      : error == EACCES ? "a copy is made beside it, in the sandbox, and you may not write there: "
                          "use data in a directory of yours; root can"
      : error == EROFS  ? "the path is not the sandbox's own: leave out --ro and --rw"
      : error == EXDEV  ? "something is mounted below it: name the directories that hold the data, "
                          "each with --service-data PATH"
      : error == ENOENT && std::string_view(verb) == "read"
          ? "no sandbox of yours sees it: cloche explain shows what is hidden, other "
            "users' homes among it; copy the service as the user whose it is"
          : "";
  return Fail(full ? Code::kExhausted : Code::kUnavailable,
              fmt::format("{} {}: {}", verb, EscapeForTerminal(path), strerror(error)), cure);
}

Result<Draft> Draft::Begin(const std::string& path, size_t number) {
  return Open(path, number, true);
}

Result<Draft> Draft::Resume(const std::string& path, size_t number) {
  return Open(path, number, false);
}

Result<Draft> Draft::Open(const std::string& path, size_t number, bool is_new) {
  Draft draft;
  draft.path_ = path;
  const size_t slash = path.find_last_of('/');
  draft.name_ = path.substr(slash + 1);
  draft.draft_ = fmt::format("{}-{}", kDraft, number);
  draft.parent_ =
      sys::Fd(open(path.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!draft.parent_.valid()) return CopyFailed("read", path, errno);
  draft.original_ = sys::Fd(openat(draft.parent_.get(), draft.name_.c_str(), kDirectoryFlags));
  if (!draft.original_.valid()) return CopyFailed("read", path, errno);
  draft.is_mount_ = sys::IsMountRoot(draft.original_.get());
  if (draft.is_mount_) draft.parent_ = sys::Fd(openat(draft.original_.get(), ".", kDirectoryFlags));
  if (!draft.parent_.valid()) return CopyFailed("read", path, errno);
  if (is_new && mkdirat(draft.parent_.get(), draft.draft_.c_str(), 0700) < 0)
    return CopyFailed("copy", path, errno);
  draft.copy_ = sys::Fd(openat(draft.parent_.get(), draft.draft_.c_str(), kDirectoryFlags));
  if (!draft.copy_.valid()) return CopyFailed("copy", path, errno);
  return draft;
}

std::vector<std::string> Draft::NotData() const {
  return is_mount_ ? std::vector<std::string>{draft_, kRepairsName} : std::vector<std::string>{};
}

// The original keeps changing: names may come and go.
Status Draft::Replace(int from, int to, const std::string& old_name,
                      const std::string& name) const {
  int error = 0;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    error = sys::RemoveTree(to, name.c_str());
    if (error != 0 && error != -ENOENT && error != -ENOTEMPTY) break;
    if (renameat(from, old_name.c_str(), to, name.c_str()) == 0) return {};
    error = -errno;
    if (error != -ENOTEMPTY && error != -EEXIST) break;
  }
  return CopyFailed("replace", path_, -error);
}

Status Draft::ReplaceEntries() const {
  const std::vector<std::string> copied = EntriesOf(copy_.get()), kept = NotData();
  for (const std::string& name : EntriesOf(original_.get())) {
    if (std::ranges::find(kept, name) != kept.end() ||
        std::ranges::find(copied, name) != copied.end())
      continue;
    if (int error = sys::RemoveTree(original_.get(), name.c_str()); error < 0 && error != -ENOENT)
      return CopyFailed("replace", path_, -error);
  }
  for (const std::string& name : copied)
    CLOCHE_TRY(Replace(copy_.get(), original_.get(), name, name));
  if (unlinkat(parent_.get(), draft_.c_str(), AT_REMOVEDIR) < 0)
    return CopyFailed("replace", path_, errno);
  return {};
}

Status Draft::PutInPlace() const {
  return is_mount_ ? ReplaceEntries() : Replace(parent_.get(), parent_.get(), draft_, name_);
}

}  // namespace cloche::service
