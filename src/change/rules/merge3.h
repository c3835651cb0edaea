#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::rules {

// For each of the three texts. At these limits a merge takes about 100 MB besides them and its
// result.
inline constexpr size_t kMaxMergeBytes = 32 << 20;
inline constexpr size_t kMaxMergeLines = 500'000;
// Steps of all searches of one merge together, a few nanoseconds each. Beyond that, changes are
// taken as larger than they are: there may be more conflicts, but the text is correct.
inline constexpr uint64_t kMergeWork = 300'000'000;

// Lines [first, first + count), counted from 0.
struct LineRange {
  uint32_t first = 0;
  uint32_t count = 0;
  bool operator==(const LineRange&) const = default;
};

// A place that both sides changed differently. It may be shown as several conflicts if the sides
// agree on some lines in it; each then has the base lines of the whole place.
struct MergeConflict {
  LineRange base;
  LineRange ours;
  LineRange theirs;
  bool operator==(const MergeConflict&) const = default;
};

struct Merged {
  // Conflicts are between "<<<<<<<", "=======" and ">>>>>>>" lines.
  std::string text;
  std::vector<MergeConflict> conflicts;  // ascending
  bool Clean() const { return conflicts.empty(); }
};

// The text after the markers, escaped for a terminal.
struct MergeLabels {
  std::string ours = "ours";
  std::string theirs = "theirs";
};

// Merges two sides' changes to one text line by line, with the results of `git merge-file`:
// adjacent changes conflict, and the same change on both sides counts once. CRLF and a missing last
// newline are part of their line and stay. Refuses texts that contain a NUL or are too large.
Result<Merged> MergeTexts(std::string_view base, std::string_view ours, std::string_view theirs,
                          const MergeLabels& labels = {});

}  // namespace cloche::rules
