#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "change/model/sha256.h"

namespace cloche::change {

enum class FileType : uint8_t { kFile, kDirectory, kSymlink, kFifo, kSocket, kChar, kBlock };
enum class ChangeKind : uint8_t { kAdded, kModified, kDeleted, kRenamed, kTypeChanged };

std::string_view TypeName(FileType type);    // "file", "directory", ...
std::string_view KindName(ChangeKind kind);  // "added", ..., "type_changed"

// A path in one of the two states.
struct Side {
  FileType type = FileType::kFile;
  uint32_t mode = 0644;  // 07777
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size = 0;        // of a file; else 0
  std::string target;       // of a symlink
  uint32_t rdev_major = 0;  // of a device
  uint32_t rdev_minor = 0;
  std::map<std::string, std::string> xattrs;
  std::optional<Sha256> sha256;       // of a file's content; absent: not read
  std::optional<uint64_t> hard_link;  // files of one state with the same number share an inode
  bool operator==(const Side&) const = default;
};

// How the two sides differ.
struct Aspects {
  bool type = false;
  bool content = false;
  bool mode = false;
  bool owner = false;
  bool xattr = false;
  bool target = false;
  bool device = false;
  bool operator==(const Aspects&) const = default;
};

struct LineCounts {
  uint64_t added = 0;
  uint64_t removed = 0;
  bool operator==(const LineCounts&) const = default;
};

// One difference between two states of a file tree, at one path. An attacker may have chosen every
// byte of it.
struct Change {
  std::string path;  // absolute, raw bytes
  ChangeKind kind = ChangeKind::kModified;
  std::string old_path;  // kRenamed; for kDeleted and kTypeChanged, in a renamed directory
  std::optional<Side> old_side;
  std::optional<Side> new_side;
  Aspects differs;                  // all false if one side is missing
  std::optional<LineCounts> lines;  // absent: binary, too large, or not a file
  bool binary = false;
  std::string noise;  // name of a group in noise.h; "" = shown to people
  bool operator==(const Change&) const = default;
};

// More than any Linux filesystem returns, except for paths built from relative names.
inline constexpr size_t kMaxPath = 64 << 10;
inline constexpr size_t kMaxTarget = 4096;
inline constexpr size_t kMaxXattrNames = 64 << 10;  // of one side, together
inline constexpr size_t kMaxXattrValues = 1 << 20;
inline constexpr size_t kMaxChangeLine = 8 << 20;  // any change within these limits fits

// Content differs if the hashes do or, if one is missing, the sizes do.
Aspects Compare(const Side& old_side, const Side& new_side);

// Checks that a change makes sense: the sides that its kind requires, clean absolute paths, nothing
// over its limit, `differs` as Compare says (without a hash, content is taken as given).
Status CheckChange(const Change& change);

// Absolute, without empty, "." and ".." components, NUL or a trailing slash; "/" itself is clean.
bool IsCleanPath(std::string_view path);

// One line of docs/formats/changes.md, without the newline. Decoding also checks the change.
std::string EncodeJsonLine(const Change& change);
Result<Change> DecodeJsonLine(std::string_view line);

}  // namespace cloche::change
