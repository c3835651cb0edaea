// Changes and contents as a hostile sandbox, or a process that was taken over by one, writes them.
#include "change/model/change.h"
#include "change/model/digest.h"
#include "change/model/lines.h"
#include "change/model/patch.h"
#include "change/model/summary.h"
#include "fuzz.h"

namespace cloche::fuzz {
namespace {

using namespace change;

constexpr std::string_view kNames[] = {
    "a",    "b c", "\xff", "\n", "\x1b[2J", "\xe2\x80\xae", "\xc3\xa4", "\"",   "\\",
    ".git", "\t",  "...",  "-",  " ",       "=>",           "%s",       "\x7f", "\xed\xa0\x80"};
constexpr std::string_view kLinePieces[] = {
    "a", "a", "b", "\n", "\n", "\n", "\r\n", "\xff", "+++ b/x", "-- ", "@@ -1 +1 @@", "\\ No"};
constexpr std::string_view kTokens[] = {"\"kind\"", "\"path\"",  "\"old\"", "\"new\"",  "\"file\"",
                                        "0644",     "null",      "{}",      "[]",       ":",
                                        ",",        "\"added\"", "true",    "\"mode\"", "_base64",
                                        "\\u0000",  "\\ud800",   "/",       "..",       "-1"};

std::string SomePath(Random& random) {
  std::string path;
  for (size_t left = 1 + random.Below(4); left > 0; --left) {
    path += '/';
    path += random.Pick(kNames);
    if (random.OneIn(3)) path += random.Pick(kNames);
  }
  return path;
}

Side SomeSide(Random& random) {
  Side side;
  side.type = static_cast<FileType>(random.Below(7));
  side.mode = static_cast<uint32_t>(random.Below(010000));
  side.uid = static_cast<uint32_t>(random.Number());
  side.gid = static_cast<uint32_t>(random.Number());
  if (side.type == FileType::kFile) {
    side.size = random.Number();
    if (!random.OneIn(4)) side.sha256 = HashOf(random.Pick(kNames));
  }
  if (side.type == FileType::kSymlink) side.target = SomePath(random);
  if (side.type == FileType::kChar || side.type == FileType::kBlock) {
    side.rdev_major = static_cast<uint32_t>(random.Number());
    side.rdev_minor = static_cast<uint32_t>(random.Number());
  }
  if (random.OneIn(3)) side.xattrs["user." + SomePath(random)] = random.Pick(kNames);
  if (random.OneIn(4) && side.type != FileType::kDirectory) side.hard_link = random.Number();
  return side;
}

// One that CheckChange accepts.
Change SomeChange(Random& random) {
  Change change;
  change.path = SomePath(random);
  change.kind = static_cast<ChangeKind>(random.Below(4));
  if (change.kind == ChangeKind::kRenamed) change.old_path = change.path + "/old";
  if (change.kind != ChangeKind::kAdded) change.old_side = SomeSide(random);
  if (change.kind != ChangeKind::kDeleted) change.new_side = SomeSide(random);
  if (change.old_side && change.new_side) {
    change.differs = Compare(*change.old_side, *change.new_side);
    if (change.differs.type) {
      change.kind = ChangeKind::kTypeChanged;
      change.old_path.clear();
    }
  }
  if (random.OneIn(2)) change.lines = LineCounts{random.Number(), random.Number()};
  change.binary = !change.lines && random.OneIn(2);
  change.noise = GroupName(static_cast<Group>(random.Below(kGroups)));
  return change;
}

std::string SomeText(Random& random) {
  std::string text;
  for (size_t left = random.Below(60); left > 0; --left) text += random.Pick(kLinePieces);
  return text;
}

std::string Applied(const LineDiff& diff) {
  std::string text;
  size_t next = 0;
  for (const Block& block : diff.blocks) {
    Require(block.old_first >= next, "blocks ascend");
    text += diff.old_lines.Range(next, block.old_first);
    text += diff.new_lines.Range(block.new_first, block.new_first + block.new_count);
    next = block.old_first + block.old_count;
  }
  text += diff.old_lines.Range(next, diff.old_lines.size());
  return text;
}

}  // namespace

bool FuzzChanges(Random& random) {
  const Change change = SomeChange(random);
  const Status checked = CheckChange(change);
  Require(checked.has_value(), "a proper change is accepted",
          checked ? "" : checked.error().message);
  const std::string line = EncodeJsonLine(change);
  Require(DecodeJsonLine(line) == change, "a change comes back as it was", line);
  StatTable table({.width = random.Below(120)});
  table.Add(change);
  Require(IsHarmlessOnATerminal(table.Render(), true), "a statistic harms no terminal", line);

  const std::string mutated = Mutate(random, line, kTokens);
  const auto decoded = DecodeJsonLine(mutated);
  if (!decoded) {
    Require(IsHarmlessOnATerminal(decoded.error().message), "an error harms no terminal", mutated);
    return false;
  }
  Require(CheckChange(*decoded).has_value(), "a decoded change is valid", mutated);
  Require(DecodeJsonLine(EncodeJsonLine(*decoded)) == *decoded, "a decoded change can be sent on",
          mutated);
  ChangeSetDigest digest;
  const bool added = digest.Add(*decoded).has_value();
  Require(digest.Finish().has_value() == added, "there is a digest or a reason", mutated);
  return true;
}

bool FuzzPatches(Random& random) {
  const std::string old_text = SomeText(random);
  const std::string new_text =
      random.OneIn(3) ? SomeText(random) : Mutate(random, old_text, kLinePieces);
  const DiffBounds bounds{.lines = random.OneIn(4) ? 10 : 1'000'000u,
                          .work = random.OneIn(2) ? random.Below(200) : 1'000'000};
  const auto diff = DiffLines(old_text, new_text, bounds);
  if (diff) Require(Applied(*diff) == new_text, "the blocks make the new text", old_text);

  Change change = SomeChange(random);
  for (auto* side : {&change.old_side, &change.new_side}) {
    if (*side && random.OneIn(2)) *side = Side{.mode = (*side)->mode};
  }
  size_t left = random.OneIn(4) ? 1 : 1'000'000;
  const PatchOptions options{.context = static_cast<uint32_t>(random.Below(5)), .bounds = bounds};
  const PatchResult result =
      WritePatch(change, old_text, new_text, options, [&left](std::string_view piece) {
        Require(!piece.empty(), "a piece has bytes");
        Require(left > 0, "a reader that wants no more gets no more");
        return --left > 0;
      });
  Require(result != PatchResult::kStopped || left == 0, "it stops only when told to");
  return diff.has_value();
}

}  // namespace cloche::fuzz
