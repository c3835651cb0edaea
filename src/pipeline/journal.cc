#include "pipeline/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rfc3339.h"
#include "base/text.h"
#include "sys/file.h"

namespace cloche::pipeline {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr size_t kMostJournal = 256 << 20;

std::unexpected<Error> Refuse(const char* what, const std::string& path) {
  return Fail(Code::kUnavailable,
              fmt::format("{} {}: {}", what, EscapeForTerminal(path), strerror(errno)),
              "pipelines are recorded below ~/.local/state: make it writable for you");
}

sys::Fd OpenTurn(const sys::Fd& directory) {
  return sys::Fd(openat(directory.get(), "turn", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

}  // namespace

std::string Now() { return Rfc3339(time(nullptr)); }

Result<Journal> Journal::Open(const std::string& home, const std::string& sandbox) {
  Journal journal;
  journal.path_ = home;
  journal.directory_ = sys::Fd(open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (home.empty() || !journal.directory_.valid()) return Refuse("open home", home);
  for (const std::string& name : {std::string(".local"), std::string("state"),
                                  std::string("cloche"), std::string("pipelines"), sandbox}) {
    const int at = journal.directory_.get();
    journal.path_ += "/" + name;
    if (mkdirat(at, name.c_str(), 0700) < 0 && errno != EEXIST)
      return Refuse("make directory", journal.path_);
    sys::Fd next(openat(at, name.c_str(), kDirectory));
    if (!next.valid()) return Refuse("open directory", journal.path_);
    journal.directory_ = std::move(next);
  }
  struct stat info {};
  if (fstat(journal.directory_.get(), &info) < 0 || info.st_uid != geteuid() ||
      (info.st_mode & 022) != 0)
    return Fail(Code::kDenied,
                "open pipeline: others can write to " + EscapeForTerminal(journal.path_),
                "make it yours alone: chmod 700");
  journal.file_ = sys::Fd(openat(journal.directory_.get(), "journal",
                                 O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!journal.file_.valid()) return Refuse("open journal in", journal.path_);
  if (fsync(journal.directory_.get()) < 0) return Refuse("sync", journal.path_);
  return journal;
}

bool Journal::TakeTurn() {
  turn_ = OpenTurn(directory_);
  // Readers hold the lock only for a moment.
  for (int attempt = 0; turn_.valid() && attempt < 20; ++attempt) {
    if (flock(turn_.get(), LOCK_EX | LOCK_NB) == 0) return true;
    poll(nullptr, 0, 50);
  }
  return false;
}

bool Journal::SomebodyRuns() const {
  if (turn_.valid()) return false;  // it is us
  const sys::Fd turn = OpenTurn(directory_);
  return turn.valid() && flock(turn.get(), LOCK_SH | LOCK_NB) != 0;
}

off_t Journal::size() const {
  struct stat info {};
  return fstat(file_.get(), &info) == 0 ? info.st_size : 0;
}

Status Journal::Append(const Json& line) const {
  if (flock(file_.get(), LOCK_EX) < 0) return Refuse("lock journal in", path_);
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  // A line that a crash cut off stays a line of its own.
  char last = '\n';
  if (const off_t end = size(); end > 0) (void)!pread(file_.get(), &last, 1, end - 1);
  if (last != '\n') text.insert(0, "\n");
  const bool written = sys::WriteWhole(file_.get(), text) && fdatasync(file_.get()) == 0;
  const int error = errno;
  flock(file_.get(), LOCK_UN);
  errno = error;
  if (!written) return Refuse("write journal in", path_);
  return {};
}

Result<std::vector<Json>> Journal::Read() const {
  const sys::Fd file(openat(directory_.get(), "journal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text;
  if (!file.valid() || sys::ReadAll(file.get(), text, kMostJournal) < 0)
    return Refuse("read journal in", path_);
  std::vector<Json> lines;
  for (std::string_view left = text; !left.empty();) {
    const size_t end = left.find('\n');
    if (end == std::string_view::npos) break;  // not acknowledged
    Json line = Json::parse(left.substr(0, end), nullptr, false);
    if (line.is_object()) lines.push_back(std::move(line));
    left.remove_prefix(end + 1);
  }
  return lines;
}

Result<sys::Fd> Journal::OpenLog(const std::string& name) const {
  sys::Fd log(openat(directory_.get(), name.c_str(),
                     O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log.valid()) return Refuse("write log in", path_);
  return log;
}

std::string Journal::ReadLog(const std::string& name, size_t most) const {
  const sys::Fd log(openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!log.valid() || fstat(log.get(), &info) < 0) return "";
  const auto all = static_cast<size_t>(info.st_size);
  std::string text(std::min(all, most), '\0');
  const ssize_t size =
      pread(log.get(), text.data(), text.size(), static_cast<off_t>(all - text.size()));
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

Status Journal::WriteText(const std::string& name, const std::string& text) const {
  ASSIGN_OR_RETURN(const sys::Fd file, OpenLog(name));
  if (!sys::WriteWhole(file.get(), text) || fdatasync(file.get()) < 0)
    return Refuse("write to", path_);
  return {};
}

}  // namespace cloche::pipeline
