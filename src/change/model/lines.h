#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cloche::change {

// As in git: a NUL in the first 8000 bytes.
bool IsBinary(std::string_view content);

// Where the lines of a text begin. A line includes its newline, so a last line without one differs
// from the same line with one. The text must outlive this.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  size_t size() const { return starts_.size(); }
  std::string_view operator[](size_t line) const { return Range(line, line + 1); }
  std::string_view Range(size_t first, size_t end) const;  // lines [first, end)

 private:
  std::string_view text_;
  std::vector<uint32_t> starts_;
};

// These lines of the old text became those lines of the new one.
struct Block {
  uint32_t old_first = 0;
  uint32_t old_count = 0;
  uint32_t new_first = 0;
  uint32_t new_count = 0;
  bool operator==(const Block&) const = default;
};

struct LineDiff {
  LineIndex old_lines;
  LineIndex new_lines;
  std::vector<Block> blocks;  // ascending, with at least one equal line between them
  uint64_t added = 0;
  uint64_t removed = 0;
  bool shortest = true;  // false: the work ran out, and the blocks are larger than needed
};

struct DiffBounds {
  size_t bytes = 256 << 20;  // of one text; the index has 32 bits
  size_t lines = 4'000'000;  // of one text; a line costs about 40 bytes of memory
  // Steps of the search, a few nanoseconds each. Once they are used up, the rest is one block.
  uint64_t work = 100'000'000;
};

// The differences between two texts, line by line. Absent: a text exceeds the bounds.
std::optional<LineDiff> DiffLines(std::string_view old_text, std::string_view new_text,
                                  const DiffBounds& bounds = {});

}  // namespace cloche::change
