#include "change/walk/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "change/model/lines.h"
#include "change/model/noise.h"

namespace cloche::walk {
namespace {

constexpr uint64_t kMostText = 32 << 20;  // larger files are compared, but not line by line
// Making a file large costs nothing, so files beyond these limits count as unreadable.
constexpr uint64_t kMostHashed = uint64_t{8} << 30;
constexpr uint64_t kMostInAll = uint64_t{64} << 30;
uint64_t hashed_in_all = 0;

// The hash of a file and, if wanted and small, its text.
struct Content {
  std::optional<change::Sha256> hash;
  std::optional<std::string> text;
};

Result<Content> ReadContent(const LayerFile& place, bool keep) {
  Content content;
  const auto size_now = static_cast<uint64_t>(place.info.st_size);
  if (size_now > kMostHashed || hashed_in_all > kMostInAll) return content;
  const sys::Fd file = OpenFile(place);
  if (!file.valid()) return content;
  change::Sha256Stream stream;
  std::string text;
  keep = keep && static_cast<uint64_t>(place.info.st_size) <= kMostText;
  static char buffer[256 << 10];
  for (;;) {
    const ssize_t size = read(file.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      return Fail(Code::kUnavailable,
                  fmt::format("read {}: {}", EscapeForTerminal(place.name), strerror(errno)));
    if (size == 0) break;
    const std::string_view piece(buffer, static_cast<size_t>(size));
    hashed_in_all += piece.size();
    if (hashed_in_all > kMostInAll) return Content();
    stream.Update(piece);
    if (keep && text.size() + piece.size() > kMostText) keep = false;  // it has grown meanwhile
    if (keep) text += piece;
  }
  content.hash = stream.Finish();
  if (keep) content.text = std::move(text);
  return content;
}

change::ChangeKind KindOf(const change::Change& change) {
  if (!change.old_side) return change::ChangeKind::kAdded;
  if (!change.new_side) return change::ChangeKind::kDeleted;
  if (change.differs.type) return change::ChangeKind::kTypeChanged;
  return change.old_path.empty() ? change::ChangeKind::kModified : change::ChangeKind::kRenamed;
}

void CountLines(const std::optional<std::string>& before, const std::optional<std::string>& after,
                bool count, change::Change& change) {
  const std::string_view old_text = before ? std::string_view(*before) : "";
  const std::string_view new_text = after ? std::string_view(*after) : "";
  change.binary = change::IsBinary(old_text) || change::IsBinary(new_text);
  if (change.binary || !count) return;
  if (auto lines = change::DiffLines(old_text, new_text))
    change.lines = change::LineCounts{lines->added, lines->removed};
}

}  // namespace

Result<std::optional<Compared>> CompareEntry(const Entry& entry, const CompareOptions& options) {
  Compared compared;
  change::Change& change = compared.change;
  change.path = entry.path;
  if (entry.before) {
    ASSIGN_OR_RETURN(change.old_side, Describe(*entry.before, options.one_owner));
  }
  if (entry.after) {
    ASSIGN_OR_RETURN(change.new_side, Describe(*entry.after, options.one_owner));
  }
  const bool both = entry.before && entry.after;
  if (both && options.one_owner) {
    change.new_side->uid = change.old_side->uid;
    change.new_side->gid = change.old_side->gid;
  }
  // The top of an upper is created without the base's attributes.
  if (both && entry.top && change.new_side->xattrs.empty())
    change.new_side->xattrs = change.old_side->xattrs;
  const bool same_file = both && entry.before->info.st_ino == entry.after->info.st_ino &&
                         entry.before->info.st_dev == entry.after->info.st_dev;
  const bool stayed = entry.old_path.empty() || entry.implied;
  if (same_file && stayed) return std::nullopt;
  const bool keep = options.lines || options.texts;
  Content before, after;
  // A deleted file is read only for its lines, because a whole tree may be gone. Its hash is left
  // out in any case, so that the change does not depend on who asks.
  if (entry.before && entry.before->IsFile() && (entry.after || keep)) {
    ASSIGN_OR_RETURN(before, ReadContent(*entry.before, keep));
    if (entry.after) change.old_side->sha256 = before.hash;
  }
  if (entry.after && entry.after->IsFile()) {
    ASSIGN_OR_RETURN(after, ReadContent(*entry.after, keep));
    change.new_side->sha256 = after.hash;
  }
  if (both) change.differs = change::Compare(*change.old_side, *change.new_side);
  // If one of two files cannot be read, they may differ, whatever their sizes.
  if (both && entry.before->IsFile() && entry.after->IsFile() && (!before.hash || !after.hash))
    change.differs.content = true;
  if (both && stayed && change.differs == change::Aspects()) return std::nullopt;
  change.old_path = entry.old_path;
  change.kind = KindOf(change);
  const bool old_readable = !entry.before || !entry.before->IsFile() || before.text;
  const bool new_readable = !entry.after || !entry.after->IsFile() || after.text;
  const bool has_file =
      (entry.before && entry.before->IsFile()) || (entry.after && entry.after->IsFile());
  if (keep && has_file && old_readable && new_readable)
    CountLines(before.text, after.text, options.lines, change);
  change.noise = change::GroupName(change::Classify(change.path, options.project, options.home));
  if (options.texts) {
    compared.old_text = std::move(before.text).value_or("");
    compared.new_text = std::move(after.text).value_or("");
    // An unreadable file must not look empty.
    if (!old_readable || !new_readable) change.binary = true;
  }
  return compared;
}

}  // namespace cloche::walk
