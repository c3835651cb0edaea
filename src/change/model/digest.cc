#include "change/model/digest.h"

#include <fmt/core.h>

#include "base/text.h"

namespace cloche::change {
namespace {

constexpr std::string_view kVersion = "cloche-change-set-1";

// Part of the format: never renumber.
uint64_t CodeOf(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kAdded:
      return 1;
    case ChangeKind::kModified:
      return 2;
    case ChangeKind::kDeleted:
      return 3;
    case ChangeKind::kRenamed:
      return 4;
    case ChangeKind::kTypeChanged:
      return 5;
  }
  return 0;
}

uint64_t CodeOf(FileType type) {
  switch (type) {
    case FileType::kFile:
      return 1;
    case FileType::kDirectory:
      return 2;
    case FileType::kSymlink:
      return 3;
    case FileType::kFifo:
      return 4;
    case FileType::kSocket:
      return 5;
    case FileType::kChar:
      return 6;
    case FileType::kBlock:
      return 7;
  }
  return 0;
}

}  // namespace

ChangeSetDigest::ChangeSetDigest() { Bytes(kVersion); }

void ChangeSetDigest::Number(uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8)
    pending_ += static_cast<char>(number >> shift & 0xff);
}

void ChangeSetDigest::Bytes(std::string_view bytes) {
  Number(bytes.size());
  pending_ += bytes;
}

void ChangeSetDigest::Encode(const std::optional<Side>& side, Groups& groups) {
  Number(side ? CodeOf(side->type) : 0);
  if (!side) return;
  Number(side->mode);
  Number(side->uid);
  Number(side->gid);
  Number(side->size);
  Bytes(side->target);
  Number(side->rdev_major);
  Number(side->rdev_minor);
  Number(side->xattrs.size());
  for (const auto& [name, value] : side->xattrs) {
    Bytes(name);
    Bytes(value);
  }
  const auto* hash = side->sha256 ? reinterpret_cast<const char*>(side->sha256->data()) : nullptr;
  Bytes(hash == nullptr ? std::string_view() : std::string_view(hash, sizeof(Sha256)));
  Number(side->hard_link ? groups.emplace(*side->hard_link, groups.size() + 1).first->second : 0);
}

Status ChangeSetDigest::Add(const Change& change) {
  const bool was_refused = std::exchange(refused_, true);
  if (was_refused) return Fail(Code::kInvalid, "digest changes: one before was refused");
  CLOCHE_TRY(CheckChange(change));
  if (change.path <= last_path_)
    return Fail(Code::kInvalid, fmt::format("digest changes: \"{}\" is out of order",
                                            EscapeForTerminal(change.path)));
  if (change.new_side && change.new_side->type == FileType::kFile && !change.new_side->sha256)
    return Fail(Code::kInvalid, fmt::format("digest changes: \"{}\" has no hash of its content",
                                            EscapeForTerminal(change.path)));
  refused_ = false;
  last_path_ = change.path;
  ++count_;
  Number(CodeOf(change.kind));
  Bytes(change.path);
  Bytes(change.old_path);
  Encode(change.old_side, old_groups_);
  Encode(change.new_side, new_groups_);
  stream_.Update(pending_);
  pending_.clear();
  return {};
}

Result<std::string> ChangeSetDigest::Finish() {
  if (refused_) return Fail(Code::kInvalid, "digest changes: one was refused");
  Number(0);  // no kind: the end
  Number(count_);
  stream_.Update(pending_);
  return "sha256:" + ToHex(stream_.Finish());
}

}  // namespace cloche::change
