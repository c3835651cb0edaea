#include "change/model/change.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "change/model/noise.h"

namespace cloche::change {
namespace {

constexpr std::array<std::string_view, 7> kTypeNames = {"file",   "directory", "symlink", "fifo",
                                                        "socket", "char",      "block"};
constexpr std::array<std::string_view, 5> kKindNames = {"added", "modified", "deleted", "renamed",
                                                        "type_changed"};

bool IsDevice(const Side& side) {
  return side.type == FileType::kChar || side.type == FileType::kBlock;
}

std::unexpected<Error> Bad(const Change& change, std::string_view reason) {
  constexpr size_t kShown = 200;
  return Fail(
      Code::kInvalid,
      fmt::format("read change of \"{}\": {}",
                  EscapeForTerminal(std::string_view(change.path).substr(0, kShown)), reason));
}

// The fault of one side; "" = none.
std::string_view FaultOf(const Side& side) {
  if (static_cast<size_t>(side.type) >= kTypeNames.size()) return "unknown type";
  if (side.mode > 07777) return "mode above 07777";
  const bool file = side.type == FileType::kFile;
  const bool symlink = side.type == FileType::kSymlink;
  if (!file && (side.size != 0 || side.sha256))
    return "size or hash of something that is not a file";
  if (side.type == FileType::kDirectory && side.hard_link) return "hard link of a directory";
  if (symlink != !side.target.empty()) return "a target belongs to a symlink";
  if (side.target.size() > kMaxTarget || side.target.find('\0') != std::string::npos)
    return "target too long or with a NUL";
  if (!IsDevice(side) && (side.rdev_major != 0 || side.rdev_minor != 0))
    return "device number of something that is not a device";
  size_t names = 0;
  size_t values = 0;
  for (const auto& [name, value] : side.xattrs) {
    if (name.empty() || name.find('\0') != std::string::npos) return "xattr without a proper name";
    names += name.size() + 1;
    values += value.size();
  }
  if (names > kMaxXattrNames || values > kMaxXattrValues) return "too many xattrs";
  return "";
}

}  // namespace

std::string_view TypeName(FileType type) { return kTypeNames.at(static_cast<size_t>(type)); }
std::string_view KindName(ChangeKind kind) { return kKindNames.at(static_cast<size_t>(kind)); }

bool IsCleanPath(std::string_view path) {
  if (path == "/") return true;
  if (path.empty() || path.size() > kMaxPath || path[0] != '/') return false;
  if (path.find('\0') != std::string_view::npos) return false;
  for (size_t start = 1; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view component = path.substr(start, end - start);
    if (component.empty() || component == "." || component == "..") return false;
    start = end + 1;
  }
  return true;
}

Aspects Compare(const Side& old_side, const Side& new_side) {
  Aspects differs;
  differs.type = old_side.type != new_side.type;
  differs.mode = old_side.mode != new_side.mode;
  differs.owner = old_side.uid != new_side.uid || old_side.gid != new_side.gid;
  differs.xattr = old_side.xattrs != new_side.xattrs;
  if (differs.type) return differs;
  differs.content = old_side.sha256 && new_side.sha256 ? old_side.sha256 != new_side.sha256
                                                       : old_side.size != new_side.size;
  differs.target = old_side.target != new_side.target;
  differs.device =
      old_side.rdev_major != new_side.rdev_major || old_side.rdev_minor != new_side.rdev_minor;
  return differs;
}

Status CheckChange(const Change& change) {
  if (static_cast<size_t>(change.kind) >= kKindNames.size()) return Bad(change, "unknown kind");
  if (!IsCleanPath(change.path)) return Bad(change, "not a clean absolute path");
  const bool moved = !change.old_path.empty();
  const bool must = change.kind == ChangeKind::kRenamed;
  const bool may =
      must || change.kind == ChangeKind::kDeleted || change.kind == ChangeKind::kTypeChanged;
  if ((must && !moved) || (moved && !may) ||
      (moved && (!IsCleanPath(change.old_path) || change.old_path == change.path)))
    return Bad(change, "old path is missing, not clean, or without meaning");
  if (change.old_side.has_value() != (change.kind != ChangeKind::kAdded) ||
      change.new_side.has_value() != (change.kind != ChangeKind::kDeleted))
    return Bad(change, "not the sides of its kind");
  for (const auto* side : {&change.old_side, &change.new_side}) {
    if (!*side) continue;
    if (const std::string_view fault = FaultOf(**side); !fault.empty()) return Bad(change, fault);
  }
  Aspects differs;
  if (change.old_side && change.new_side) {
    differs = Compare(*change.old_side, *change.new_side);
    const bool hashes = change.old_side->sha256 && change.new_side->sha256;
    const bool files = change.old_side->type == FileType::kFile && !differs.type;
    if (files && !hashes && !differs.content) differs.content = change.differs.content;
  }
  if (change.differs != differs) return Bad(change, "does not differ in what it says");
  if (differs.type != (change.kind == ChangeKind::kTypeChanged))
    return Bad(change, "type and kind disagree");
  if (change.lines && change.binary) return Bad(change, "lines of a binary file");
  if (!GroupFromName(change.noise)) return Bad(change, "not the name of a group");
  return {};
}

}  // namespace cloche::change
