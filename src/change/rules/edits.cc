#include "change/rules/edits.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "change/model/myers.h"

namespace cloche::rules {
namespace {

using Lines = std::span<const uint32_t>;

// The lines of a text and which of them changed; Group walks over these.
struct Side {
  Lines lines;
  std::vector<bool> changed;

  explicit Side(Lines all) : lines(all), changed(all.size()) {}
  bool Changed(size_t line) const { return line < changed.size() && changed[line]; }
};

// How often a line occurs in the other text.
enum class Matches : uint8_t { kNone, kSome, kMany };

// Lines at least this frequent count as frequent: about the square root of the text's length.
size_t FrequentFrom(size_t lines) {
  size_t root = 1;
  for (; lines > 0; lines /= 4) root *= 2;
  return std::min<size_t>(root, 1024);
}

std::vector<Matches> CountMatches(Lines lines, size_t first, size_t end, Lines other) {
  // Sorted rather than indexed by number, so that a short stretch of a long text costs little.
  std::vector<uint32_t> sorted(other.begin(), other.end());
  std::ranges::sort(sorted);
  const size_t frequent = FrequentFrom(lines.size());
  std::vector<Matches> matches(end - first);
  for (size_t i = first; i < end; ++i) {
    const size_t count = std::ranges::equal_range(sorted, lines[i]).size();
    matches[i - first] = count == 0          ? Matches::kNone
                         : count >= frequent ? Matches::kMany
                                             : Matches::kSome;
  }
  return matches;
}

// The run of lines, next to a given line, that have no single good match.
struct Run {
  size_t none = 0;
  size_t many = 0;

  bool Take(Matches matches) {
    if (matches == Matches::kSome) return false;
    ++(matches == Matches::kNone ? none : many);
    return true;
  }
};

// A frequent line (a lone brace, an empty line) amid lines that the other text lacks would only
// split one change into many.
bool IsStray(const std::vector<Matches>& matches, size_t at) {
  constexpr size_t kWindow = 100;
  constexpr size_t kShare = 4;
  Run before;
  for (size_t i = 1; i <= std::min(at, kWindow); ++i)
    if (!before.Take(matches[at - i])) break;
  Run behind;
  for (size_t i = 1; i <= std::min(matches.size() - 1 - at, kWindow); ++i)
    if (!behind.Take(matches[at + i])) break;
  if (before.none == 0 || behind.none == 0) return false;
  const size_t many = before.many + behind.many + 2;  // the line itself, counted from both sides
  return many * kShare < many + before.none + behind.none;
}

// Input of the search: the lines of [first, end) that may be common. The others are marked as
// changed.
struct Candidates {
  std::vector<uint32_t> lines;
  std::vector<size_t> places;
  std::vector<bool> changed;

  Candidates(Side& side, size_t first, size_t end, Lines other) {
    const std::vector<Matches> matches = CountMatches(side.lines, first, end, other);
    for (size_t i = first; i < end; ++i) {
      const Matches found = matches[i - first];
      if (found == Matches::kNone || (found == Matches::kMany && IsStray(matches, i - first))) {
        side.changed[i] = true;
        continue;
      }
      lines.push_back(side.lines[i]);
      places.push_back(i);
    }
    changed.resize(lines.size());
  }

  void MarkIn(Side& side) const {
    for (size_t i = 0; i < places.size(); ++i)
      if (changed[i]) side.changed[places[i]] = true;
  }
};

void MarkEdits(Side& old_side, Side& new_side, uint64_t& work) {
  const Lines a = old_side.lines;
  const Lines b = new_side.lines;
  const size_t shorter = std::min(a.size(), b.size());
  size_t front = 0;
  while (front < shorter && a[front] == b[front]) ++front;
  size_t back = 0;
  while (back < shorter - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  Candidates old_part(old_side, front, a.size() - back, b);
  Candidates new_part(new_side, front, b.size() - back, a);
  change::MarkChanges(old_part.lines, new_part.lines, old_part.changed, new_part.changed, work);
  old_part.MarkIn(old_side);
  new_part.MarkIn(new_side);
}

// The n-th group of a side consists of the changed lines between its n-th and n+1-th unchanged
// line; it may be empty. The n-th groups of both sides belong together.
class Group {
 public:
  explicit Group(Side& side) : side_(side) { Grow(); }

  size_t size() const { return end_ - first_; }
  size_t end() const { return end_; }
  bool empty() const { return end_ == first_; }

  bool Next() {
    if (end_ == side_.lines.size()) return false;
    first_ = end_ = end_ + 1;
    Grow();
    return true;
  }
  void Previous() {
    end_ = --first_;
    while (first_ > 0 && side_.Changed(first_ - 1)) --first_;
  }

  // Moves by one line if the result means the same, and absorbs the group it then touches.
  bool SlideUp() {
    if (first_ == 0 || side_.lines[first_ - 1] != side_.lines[end_ - 1]) return false;
    side_.changed[--first_] = true;
    side_.changed[--end_] = false;
    while (first_ > 0 && side_.Changed(first_ - 1)) --first_;
    return true;
  }
  bool SlideDown() {
    if (end_ == side_.lines.size() || side_.lines[first_] != side_.lines[end_]) return false;
    side_.changed[first_++] = false;
    side_.changed[end_++] = true;
    Grow();
    return true;
  }

 private:
  void Grow() {
    while (side_.Changed(end_)) ++end_;
  }

  Side& side_;
  size_t first_ = 0;
  size_t end_ = 0;
};

// Moves each group of `side` to where it meets a group of the other side, so that they form one
// block; otherwise as far down as possible. Groups that touch on the way are joined.
void Settle(Side& side, Side& other, uint64_t& work) {
  const auto spend = [&work] { return work > 0 && work-- > 0; };
  Group group(side);
  Group partner(other);
  do {
    if (group.empty()) continue;
    size_t size = 0;
    size_t highest = 0;
    bool meets = false;
    do {
      size = group.size();
      while (spend() && group.SlideUp()) partner.Previous();
      highest = group.end();
      meets = !partner.empty();
      while (spend() && group.SlideDown()) {
        partner.Next();
        meets = meets || !partner.empty();
      }
    } while (size != group.size());
    if (group.end() == highest || !meets) continue;
    while (partner.empty() && group.SlideUp()) partner.Previous();
  } while (group.Next() && partner.Next());
}

std::vector<change::Block> BlocksOf(const Side& old_side, const Side& new_side) {
  std::vector<change::Block> blocks;
  size_t i = 0;
  size_t j = 0;
  while (i < old_side.lines.size() || j < new_side.lines.size()) {
    const size_t old_first = i;
    const size_t new_first = j;
    while (old_side.Changed(i)) ++i;
    while (new_side.Changed(j)) ++j;
    if (i > old_first || j > new_first)
      blocks.push_back({static_cast<uint32_t>(old_first), static_cast<uint32_t>(i - old_first),
                        static_cast<uint32_t>(new_first), static_cast<uint32_t>(j - new_first)});
    // Unchanged lines are equal on both sides, one by one.
    if (i < old_side.lines.size()) ++i;
    if (j < new_side.lines.size()) ++j;
  }
  return blocks;
}

}  // namespace

std::vector<change::Block> EditsLikeGit(std::span<const uint32_t> old_lines,
                                        std::span<const uint32_t> new_lines, uint64_t& work) {
  Side old_side(old_lines);
  Side new_side(new_lines);
  MarkEdits(old_side, new_side, work);
  Settle(old_side, new_side, work);
  Settle(new_side, old_side, work);
  return BlocksOf(old_side, new_side);
}

}  // namespace cloche::rules
