#include "change/apply/verdict.h"

#include "change/model/lines.h"

namespace cloche::apply {
namespace {

using change::FileType;
using rules::Incoming;
using rules::Real;

bool IsSpecial(FileType type) {
  return type != FileType::kFile && type != FileType::kDirectory && type != FileType::kSymlink;
}

// The type of file the sandbox saw there; nullopt: nothing, or unknown.
std::optional<FileType> TypeSeen(const Situation& situation) {
  const change::Change& change = *situation.change;
  switch (situation.seen) {
    case Seen::kText:
      return FileType::kFile;
    case Seen::kGone:
      return change.new_side ? std::optional(change.new_side->type) : std::nullopt;
    case Seen::kNothing:
    case Seen::kHidden:
      return std::nullopt;
    case Seen::kAsNow:
    case Seen::kUnknown:
      break;
  }
  return change.old_side ? std::optional(change.old_side->type) : std::nullopt;
}

// git records only the executable bit. If reality and sandbox differ in other bits, owner or
// attributes, we cannot tell who changed them.
bool SameButExec(const change::Change& change) {
  if (!change.old_side || !change.new_side) return true;
  return ((change.old_side->mode ^ change.new_side->mode) & ~0111u) == 0 && !change.differs.owner &&
         !change.differs.xattr;
}

bool IsExecutable(const change::Side& side) { return (side.mode & 0100) != 0; }

}  // namespace

std::optional<Incoming> IncomingOf(const Situation& situation) {
  const change::Change& change = *situation.change;
  const std::optional<FileType> seen = TypeSeen(situation);
  if (!change.new_side)
    return seen == FileType::kDirectory ? Incoming::kDeleteDirectory : Incoming::kDelete;
  const change::Side& side = *change.new_side;
  if (IsSpecial(side.type)) return Incoming::kSpecial;
  const bool directory = side.type == FileType::kDirectory;
  if (!seen) {
    if (directory) return Incoming::kAddDirectory;
    return side.hard_link ? Incoming::kLink : Incoming::kAdd;
  }
  if (directory && situation.mode_seen == side.mode) return std::nullopt;
  if (directory)
    return seen == FileType::kDirectory ? Incoming::kDirectoryMetadata : Incoming::kFileToDirectory;
  if (seen == FileType::kDirectory) return Incoming::kDirectoryToFile;
  if (seen != side.type) return Incoming::kTypeChange;
  if (situation.seen == Seen::kText && situation.texts && situation.theirs == situation.base_text)
    return IsExecutable(side) == situation.base_exec ? std::nullopt
                                                     : std::optional(Incoming::kMetadata);
  if (side.hard_link) return Incoming::kLink;
  if (situation.seen == Seen::kAsNow && !change.differs.content && !change.differs.target)
    return Incoming::kMetadata;
  return side.type == FileType::kSymlink ? Incoming::kRetarget : Incoming::kEdit;
}

Real RealOf(const Situation& situation, Incoming incoming) {
  if (situation.obstacle) return *situation.obstacle;
  const change::Change& change = *situation.change;
  if (!change.old_side) return situation.seen == Seen::kNothing ? Real::kAsSeen : Real::kAbsent;
  const change::Side& now = *change.old_side;
  const bool directory = now.type == FileType::kDirectory;
  if (situation.seen == Seen::kNothing) return directory ? Real::kDirectoryHere : Real::kAppeared;
  if (situation.seen == Seen::kHidden) {
    if (directory == (incoming == Incoming::kAddDirectory)) return Real::kHidden;
    return directory ? Real::kDirectoryHere : Real::kAppeared;
  }
  if (situation.seen == Seen::kAsNow) return Real::kAsSeen;
  if (situation.seen == Seen::kText) {
    if (directory) return Real::kDirectoryHere;
    if (now.type != FileType::kFile) return Real::kOtherType;
    const bool same_mode = IsExecutable(now) == situation.base_exec && SameButExec(change);
    if (situation.texts && situation.ours == situation.base_text)
      return same_mode ? Real::kAsSeen : Real::kMetadataDiffers;
    const bool text = situation.texts && !change::IsBinary(situation.base_text) &&
                      !change::IsBinary(situation.ours) && !change::IsBinary(situation.theirs);
    return text && same_mode ? Real::kEditedText : Real::kEdited;
  }
  // Unknown. A directory's ctime says that entries came or went, that its status changed, or that
  // it was replaced.
  if (directory)
    return incoming == Incoming::kDirectoryMetadata ? Real::kMetadataDiffers : Real::kNotEmpty;
  if (incoming == Incoming::kRetarget) return Real::kRetargeted;
  return Real::kEdited;
}

}  // namespace cloche::apply
