#include "change/apply/store.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/rfc3339.h"
#include "base/text.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kPauseMs = 20;

bool IsId(const std::string& id) {
  return id.starts_with("pr_") && id.size() > 3 && id.size() < 64 &&
         id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

Result<sys::Fd> MakeBelow(const sys::Fd& parent, const char* name, mode_t mode) {
  if (mkdirat(parent.get(), name, mode) < 0 && errno != EEXIST)
    return Fail(Code::kUnavailable, fmt::format("make directory {}: {}", name, strerror(errno)),
                "promotions are recorded below ~/.local/state: make it writable for you");
  sys::Fd made(openat(parent.get(), name, kDirectory));
  if (!made.valid())
    return Fail(Code::kUnavailable, fmt::format("open directory {}: {}", name, strerror(errno)),
                "promotions are recorded below ~/.local/state");
  return made;
}

}  // namespace

std::string NewPromotionId() {
  static constexpr char kAlphabet[] = "abcdefghjkmnpqrstuvwxyz23456789";
  unsigned char random[6];
  sys::RandomBytes(random, sizeof random);
  std::string id = fmt::format("pr_{:010x}_", static_cast<uint64_t>(NowMs()));
  for (const unsigned char byte : random) id += kAlphabet[byte % (sizeof kAlphabet - 1)];
  return id;
}

int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::optional<int64_t> MadeAtMs(const std::string& id) {
  const size_t begin = id.find('_') + 1, end = id.find('_', begin);
  int64_t ms = 0;
  if (end == std::string::npos) return std::nullopt;
  const auto read = std::from_chars(id.data() + begin, id.data() + end, ms, 16);
  if (read.ec != std::errc() || read.ptr != id.data() + end) return std::nullopt;
  return ms;
}

std::string Now() { return Rfc3339(time(nullptr)); }

Result<Store> Store::Find(const std::string& home) {
  sys::Fd at(open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (home.empty() || !at.valid())
    return Fail(Code::kUnavailable,
                fmt::format("open home {}: {}", EscapeForTerminal(home), strerror(errno)),
                "promotions are recorded there: set HOME");
  for (const char* name : {".local", "state", "cloche", "promotions"}) {
    ASSIGN_OR_RETURN(sys::Fd next, MakeBelow(at, name, 0700));
    at = std::move(next);
  }
  struct stat info;
  if (fstat(at.get(), &info) < 0 || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
    return Fail(Code::kDenied,
                "open promotions: others can write to ~/.local/state/cloche/promotions",
                "make it yours alone: chmod 700");
  Store store;
  store.directory_ = std::move(at);
  return store;
}

Result<bool> Store::TryLock() const {
  if (flock(directory_.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  return Fail(Code::kUnavailable, fmt::format("lock promotions: {}", strerror(errno)));
}

Result<std::optional<Store>> Store::OpenIfFree(const std::string& home) {
  ASSIGN_OR_RETURN(Store store, Find(home));
  ASSIGN_OR_RETURN(const bool locked, store.TryLock());
  return locked ? std::optional(std::move(store)) : std::nullopt;
}

Result<Store> Store::Open(const std::string& home, int patience_ms) {
  ASSIGN_OR_RETURN(Store store, Find(home));
  for (int waited_ms = 0;; waited_ms += kPauseMs) {
    ASSIGN_OR_RETURN(const bool locked, store.TryLock());
    if (locked) return store;
    if (waited_ms >= patience_ms)
      return Fail(Code::kUnavailable, "lock promotions: another promotion or undo is under way",
                  "try again when it has ended");
    usleep(kPauseMs * 1000);
  }
}

Result<Store::Entry> Store::Make() {
  Entry entry;
  entry.id = NewPromotionId();
  ASSIGN_OR_RETURN(entry.directory, MakeBelow(directory_, entry.id.c_str(), 0700));
  ASSIGN_OR_RETURN(entry.files, MakeBelow(entry.directory, "files", 0700));
  return entry;
}

Result<Store::Entry> Store::OpenEntry(const std::string& id) const {
  Entry entry;
  entry.id = id;
  if (IsId(id)) entry.directory = sys::Fd(openat(directory_.get(), id.c_str(), kDirectory));
  if (entry.directory.valid())
    entry.files = sys::Fd(openat(entry.directory.get(), "files", kDirectory));
  const int error = errno;
  if (!entry.files.valid() && IsId(id) && error != ENOENT)
    return Fail(Code::kUnavailable, fmt::format("open promotion {}: {}", id, strerror(error)));
  if (!entry.files.valid())
    return Fail(Code::kNotFound, "find promotion: there is no " + EscapeForTerminal(id),
                "cloche promotions shows the ones there are");
  return entry;
}

std::vector<std::string> Store::List() const {
  std::vector<std::string> ids;
  sys::Directory list(directory_.get(), ".");
  while (const dirent* entry = list.Next())
    if (IsId(entry->d_name)) ids.emplace_back(entry->d_name);
  std::ranges::sort(ids);
  return ids;
}

Status Store::Remove(const std::string& id) const {
  if (int error = sys::RemoveTree(directory_.get(), id.c_str()); error < 0)
    return Fail(Code::kUnavailable, fmt::format("remove {}: {}", id, strerror(-error)));
  return {};
}

}  // namespace cloche::apply
