#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::rules {

// Of each of the three texts. At these bounds a merge takes about 100 MB beside them and its text.
inline constexpr size_t kMaxMergeBytes = 32 << 20;
inline constexpr size_t kMaxMergeLines = 500'000;
// Steps of all searches of one merge together, a few nanoseconds each. Beyond them changes are
// taken as larger than they are: there may be more conflicts, the text is right.
inline constexpr uint64_t kMergeWork = 300'000'000;

// Lines [first, first + count), counted from 0.
struct LineRange {
  uint32_t first = 0;
  uint32_t count = 0;
  bool operator==(const LineRange&) const = default;
};

// What both sides changed in different ways. One such place may be shown as several conflicts, when
// the sides agree on lines in it: then these have the base lines of the whole place.
struct MergeConflict {
  LineRange base;
  LineRange ours;
  LineRange theirs;
  bool operator==(const MergeConflict&) const = default;
};

struct Merged {
  // Where there are conflicts, each is in it between lines of "<<<<<<<", "=======" and ">>>>>>>".
  std::string text;
  std::vector<MergeConflict> conflicts;  // ascending
  bool Clean() const { return conflicts.empty(); }
};

// What stands behind the markers, escaped for a terminal.
struct MergeLabels {
  std::string ours = "ours";
  std::string theirs = "theirs";
};

// Merges what two sides made of one text, line by line, with the answers of `git merge-file`:
// changes that touch conflict, the same change on both sides is one. Newlines are kept as they are:
// CRLF and a missing last one are part of their line. Refuses what holds a NUL or is too large.
Result<Merged> MergeTexts(std::string_view base, std::string_view ours, std::string_view theirs,
                          const MergeLabels& labels = {});

}  // namespace cloche::rules
