#include "change/apply/held_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "base/shown_path.h"
#include "sys/file_times.h"

namespace cloche::apply {
namespace {

constexpr int kContent = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// Invalid if it cannot be read, is not a regular file, or has been replaced.
sys::Fd OpenContent(int directory, const std::string& name, const struct stat& expected) {
  if (!S_ISREG(expected.st_mode)) return {};
  sys::Fd content(openat(directory, name.c_str(), kContent));
  struct stat info;
  if (!content.valid() || fstat(content.get(), &info) < 0 || info.st_dev != expected.st_dev ||
      info.st_ino != expected.st_ino)
    return {};
  return content;
}

// 0 or an errno; EAGAIN: a process has it open for writing.
int TakeLease(int file) { return fcntl(file, F_SETLEASE, F_RDLCK) == 0 ? 0 : errno; }

std::string AttributesOf(int file) {
  std::vector<char> names(256);
  ssize_t size;
  while ((size = flistxattr(file, names.data(), names.size())) < 0 && errno == ERANGE)
    names.resize(names.size() * 4);
  std::string all;
  for (const char* name = names.data(); size > 0 && name < names.data() + size;
       name += strlen(name) + 1) {
    std::vector<char> value(256);
    ssize_t length;
    while ((length = fgetxattr(file, name, value.data(), value.size())) < 0 && errno == ERANGE)
      value.resize(value.size() * 4);
    all.append(name).push_back('\0');
    if (length >= 0)
      all.append(std::to_string(length) + ":").append(value.data(), static_cast<size_t>(length));
  }
  return all;
}

}  // namespace

std::optional<change::Sha256> ContentHash(int file) {
  change::Sha256Stream stream;
  static char piece[256 << 10];
  for (off_t at = 0;;) {
    const ssize_t size = pread(file, piece, sizeof piece, at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return stream.Finish();
    stream.Update(std::string_view(piece, static_cast<size_t>(size)));
    at += size;
  }
}

HeldFile::HeldFile(int directory, const std::string& name)
    : file_(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {
  struct stat info;
  if (!file_.valid() || fstat(file_.get(), &info) < 0) {
    file_.Reset();
    return;
  }
  content_ = OpenContent(directory, name, info);
  if (content_.valid()) {
    const int error = TakeLease(content_.get());
    leased_ = error == 0;
    has_writer_ = error == EAGAIN;
    if (!leased_ && !has_writer_) hash_ = ContentHash(content_.get());
  }
  // Only now, with the lease taken, so that earlier writes show in the facts.
  const auto facts = Look();
  if (!facts || fstat(file_.get(), &info) < 0) {
    file_.Reset();
    return;
  }
  facts_ = *facts;
  identity_ = IdentityOf(info);
  names_ = info.st_nlink;
}

std::optional<FileFacts> HeldFile::Look() const {
  struct stat info;
  if (fstat(file_.get(), &info) < 0) return std::nullopt;
  return FileFacts{info.st_mode,
                   info.st_uid,
                   info.st_gid,
                   static_cast<uint64_t>(info.st_size),
                   sys::Nanos(info.st_mtim),
                   content_.valid() ? AttributesOf(content_.get()) : ""};
}

bool HeldFile::IsUnchanged() const {
  // A process waiting for the lease opened the file before the rename and would write to the old
  // one.
  if (leased_ && fcntl(content_.get(), F_GETLEASE) != F_RDLCK) return false;
  if (hash_ && ContentHash(content_.get()) != hash_) return false;
  return Look() == facts_;
}

bool HasWriter(int directory, const std::string& name) {
  struct stat info;
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return false;
  const sys::Fd content = OpenContent(directory, name, info);
  return content.valid() && TakeLease(content.get()) == EAGAIN;
}

std::string OpenForWritingCure(const std::string& path) {
  return fmt::format("end what writes in it (fuser -v {} names the process), then try again",
                     ShownPath(path));
}

void IgnoreLeaseBreaks() { signal(SIGIO, SIG_IGN); }

}  // namespace cloche::apply
