#include "change/model/lines.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "change/model/myers.h"

namespace cloche::change {
namespace {

constexpr size_t kBinaryWindow = 8000;

uint64_t HashLine(std::string_view line) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  uint64_t hash = line.size() * kFactor;
  for (; line.size() >= 8; line.remove_prefix(8)) {
    uint64_t word = 0;
    std::memcpy(&word, line.data(), 8);
    hash = (hash ^ word) * kFactor;
    hash ^= hash >> 29;
  }
  uint64_t last = 0;
  std::memcpy(&last, line.data(), line.size());
  hash = (hash ^ last) * kFactor;
  return hash ^ hash >> 32;
}

// Equal lines get equal numbers. The hash is not secret, so an attacker can make lines collide; the
// cost is taken from `work`.
class Interner {
 public:
  Interner(size_t lines, uint64_t& work)
      : slots_(std::bit_ceil(2 * lines + 1), kEmpty), work_(work) {}

  uint32_t NumberOf(std::string_view line) {
    const uint64_t hash = HashLine(line);
    size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1)) {
      const Known& known = known_[slots_[slot]];
      if (known.check == static_cast<uint32_t>(hash >> 32)) {
        if (std::string_view(known.data, known.size) == line) return slots_[slot];
        Spend(line.size() / 64);
      }
      Spend(1);
      if (exhausted_) return 0;
    }
    slots_[slot] = static_cast<uint32_t>(known_.size());
    known_.push_back(
        {line.data(), static_cast<uint32_t>(line.size()), static_cast<uint32_t>(hash >> 32)});
    return slots_[slot];
  }

  size_t size() const { return known_.size(); }
  bool exhausted() const { return exhausted_; }

 private:
  struct Known {
    const char* data;
    uint32_t size;
    uint32_t check;
  };

  void Spend(uint64_t cost) {
    exhausted_ = exhausted_ || work_ < cost;
    work_ -= std::min(work_, cost);
  }

  static constexpr uint32_t kEmpty = 0xffffffff;
  std::vector<uint32_t> slots_;
  std::vector<Known> known_;
  uint64_t& work_;
  bool exhausted_ = false;
};

// The lines of a text between the common beginning and the common end.
struct Middle {
  size_t first = 0;
  std::vector<uint32_t> numbers;
  std::vector<bool> changed;
};

// The elements that the other side has, too, and their positions. A line that only one side has is
// certainly changed, and leaving it out makes the search much shorter.
struct Shared {
  std::vector<uint32_t> numbers;
  std::vector<uint32_t> places;

  Shared(Middle& middle, const std::vector<bool>& in_other) {
    for (size_t i = 0; i < middle.numbers.size(); ++i) {
      if (!in_other[middle.numbers[i]]) {
        middle.changed[i] = true;
        continue;
      }
      numbers.push_back(middle.numbers[i]);
      places.push_back(static_cast<uint32_t>(i));
    }
  }
};

void CopyMarks(const std::vector<bool>& from, const Shared& shared, Middle& to) {
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i]) to.changed[shared.places[i]] = true;
}

// False if the work ran out: the marks are then correct, but not minimal.
bool MarkMiddle(const LineIndex& old_lines, const LineIndex& new_lines, Middle& old_middle,
                Middle& new_middle, uint64_t work) {
  Interner interner(old_middle.numbers.size() + new_middle.numbers.size(), work);
  const auto number = [&interner](const LineIndex& lines, Middle& middle) {
    for (size_t i = 0; i < middle.numbers.size() && !interner.exhausted(); ++i)
      middle.numbers[i] = interner.NumberOf(lines[middle.first + i]);
  };
  number(old_lines, old_middle);
  number(new_lines, new_middle);
  if (interner.exhausted()) {
    old_middle.changed.flip();
    new_middle.changed.flip();
    return false;
  }
  std::vector<bool> in_old(interner.size());
  std::vector<bool> in_new(interner.size());
  for (const uint32_t line : old_middle.numbers) in_old[line] = true;
  for (const uint32_t line : new_middle.numbers) in_new[line] = true;
  const Shared old_shared(old_middle, in_new);
  const Shared new_shared(new_middle, in_old);
  std::vector<bool> old_changed(old_shared.numbers.size());
  std::vector<bool> new_changed(new_shared.numbers.size());
  const bool shortest =
      MarkChanges(old_shared.numbers, new_shared.numbers, old_changed, new_changed, work);
  CopyMarks(old_changed, old_shared, old_middle);
  CopyMarks(new_changed, new_shared, new_middle);
  return shortest;
}

std::vector<Block> BlocksOf(const Middle& old_middle, const Middle& new_middle) {
  std::vector<Block> blocks;
  size_t i = 0;
  size_t j = 0;
  while (i < old_middle.changed.size() || j < new_middle.changed.size()) {
    const size_t old_first = i;
    const size_t new_first = j;
    while (i < old_middle.changed.size() && old_middle.changed[i]) ++i;
    while (j < new_middle.changed.size() && new_middle.changed[j]) ++j;
    if (i > old_first || j > new_first)
      blocks.push_back({static_cast<uint32_t>(old_middle.first + old_first),
                        static_cast<uint32_t>(i - old_first),
                        static_cast<uint32_t>(new_middle.first + new_first),
                        static_cast<uint32_t>(j - new_first)});
    // Unchanged lines are equal on both sides, one by one.
    if (i < old_middle.changed.size()) ++i;
    if (j < new_middle.changed.size()) ++j;
  }
  return blocks;
}

size_t Indent(std::string_view line) {
  constexpr size_t kBlank = 1000;
  size_t indent = 0;
  for (const char c : line.substr(0, 200)) {
    if (c == '\n' || c == '\r') return kBlank;
    if (c != ' ' && c != '\t') return indent;
    indent += c == '\t' ? 8 : 1;
  }
  return kBlank;
}

// If the same lines precede and follow an inserted (or deleted) block, it may begin a few lines
// earlier or later. People expect it to begin at the line with the smallest indent.
void Slide(const LineIndex& lines, size_t first, size_t count, size_t room_up, size_t room_down,
           Block& block) {
  constexpr size_t kFar = 100;
  size_t up = 0;
  while (up < std::min(room_up, kFar) && lines[first - up - 1] == lines[first + count - up - 1])
    ++up;
  size_t down = 0;
  while (down < std::min(room_down, kFar) && lines[first + down] == lines[first + count + down])
    ++down;
  size_t best = first + down;
  for (size_t at = first + down; at + up > first; --at)
    if (Indent(lines[at - 1]) < Indent(lines[best])) best = at - 1;
  block.old_first = static_cast<uint32_t>(block.old_first + best - first);
  block.new_first = static_cast<uint32_t>(block.new_first + best - first);
}

void SlideAll(LineDiff& diff) {
  for (size_t i = 0; i < diff.blocks.size(); ++i) {
    Block& block = diff.blocks[i];
    if ((block.old_count == 0) == (block.new_count == 0)) continue;
    // Leave one equal line to each neighbour.
    const size_t before =
        i == 0 ? 0 : diff.blocks[i - 1].new_first + diff.blocks[i - 1].new_count + 1;
    const size_t room_up = block.new_first - std::min<size_t>(before, block.new_first);
    const size_t end = block.new_first + block.new_count;
    const size_t room_down = i + 1 < diff.blocks.size() ? diff.blocks[i + 1].new_first - end - 1
                                                        : diff.new_lines.size() - end;
    if (block.old_count == 0)
      Slide(diff.new_lines, block.new_first, block.new_count, room_up, room_down, block);
    else
      Slide(diff.old_lines, block.old_first, block.old_count, room_up, room_down, block);
  }
}

bool WithinBounds(std::string_view text, const DiffBounds& bounds) {
  return text.size() <= std::min<size_t>(bounds.bytes, 0xffffffff) &&
         static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) <
             std::min<size_t>(bounds.lines, 1 << 29);
}

}  // namespace

bool IsBinary(std::string_view content) {
  return content.substr(0, kBinaryWindow).find('\0') != std::string_view::npos;
}

LineIndex::LineIndex(std::string_view text) : text_(text) {
  for (size_t at = 0; at < text.size();) {
    starts_.push_back(static_cast<uint32_t>(at));
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
}

std::string_view LineIndex::Range(size_t first, size_t end) const {
  const auto start_of = [this](size_t line) {
    return line < starts_.size() ? starts_[line] : text_.size();
  };
  return text_.substr(start_of(first), start_of(end) - start_of(first));
}

std::optional<LineDiff> DiffLines(std::string_view old_text, std::string_view new_text,
                                  const DiffBounds& bounds) {
  if (!WithinBounds(old_text, bounds) || !WithinBounds(new_text, bounds)) return std::nullopt;
  LineDiff diff{.old_lines = LineIndex(old_text), .new_lines = LineIndex(new_text)};
  const LineIndex& old_lines = diff.old_lines;
  const LineIndex& new_lines = diff.new_lines;
  const size_t shorter = std::min(old_lines.size(), new_lines.size());
  size_t front = 0;
  while (front < shorter && old_lines[front] == new_lines[front]) ++front;
  size_t back = 0;
  while (back < shorter - front &&
         old_lines[old_lines.size() - 1 - back] == new_lines[new_lines.size() - 1 - back])
    ++back;
  const auto middle_of = [&](const LineIndex& lines) {
    const size_t count = lines.size() - front - back;
    return Middle{front, std::vector<uint32_t>(count), std::vector<bool>(count)};
  };
  Middle old_middle = middle_of(old_lines);
  Middle new_middle = middle_of(new_lines);
  diff.shortest = MarkMiddle(old_lines, new_lines, old_middle, new_middle, bounds.work);
  diff.blocks = BlocksOf(old_middle, new_middle);
  SlideAll(diff);
  for (const Block& block : diff.blocks) {
    diff.removed += block.old_count;
    diff.added += block.new_count;
  }
  return diff;
}

}  // namespace cloche::change
