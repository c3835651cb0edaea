#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "change/model/change.h"
#include "change/model/noise.h"

namespace cloche::change {

struct Counts {
  uint64_t added = 0;
  uint64_t modified = 0;  // type changes too
  uint64_t deleted = 0;
  uint64_t renamed = 0;
  uint64_t lines_added = 0;
  uint64_t lines_removed = 0;
  uint64_t bytes = 0;  // of new files and new content

  uint64_t Changes() const { return added + modified + deleted + renamed; }
  void Add(const Change& change);
  void Add(const Counts& other);
  bool operator==(const Counts&) const = default;
};

// Counts per group. Sums saturate instead of wrapping.
class Summary {
 public:
  void Add(const Change& change);
  const Counts& Of(Group group) const { return counts_[static_cast<size_t>(group)]; }
  Counts Total() const;

 private:
  std::array<Counts, kGroups> counts_;
};

struct StatOptions {
  std::string root = "/";  // names below it are shown relative to it
  size_t width = 80;
  size_t rows = 100'000;  // beyond that, only a count is shown
  bool colour = false;
};

// The text of `--stat`: a line per change, with a graph of added and removed lines, like git's
// --compact-summary. Names are escaped for a terminal. Changes must have passed CheckChange.
class StatTable {
 public:
  explicit StatTable(StatOptions options);
  void Add(const Change& change);
  std::string Render() const;  // "" if there was no change

 private:
  struct Row {
    std::string name;  // escaped, at most as wide as the terminal
    std::string note;  // "(new)"
    std::string text;  // instead of a number and a graph
    uint64_t added = 0;
    uint64_t removed = 0;
  };

  std::string NameOf(const Change& change) const;

  StatOptions options_;
  std::vector<Row> rows_;
  Counts total_;
};

}  // namespace cloche::change
