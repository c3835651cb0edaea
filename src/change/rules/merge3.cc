#include "change/rules/merge3.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/text.h"
#include "change/model/lines.h"
#include "change/rules/edits.h"

namespace cloche::rules {
namespace {

using change::Block;
using change::LineIndex;

// A text as lines and as numbers: equal lines in any of the three texts share a number.
struct Text {
  LineIndex lines;
  std::vector<uint32_t> numbers;

  explicit Text(std::string_view text) : lines(text), numbers(lines.size()) {}
  std::span<const uint32_t> Of(LineRange range) const {
    return std::span(numbers).subspan(range.first, range.count);
  }
  std::string_view TextOf(LineRange range) const {
    return lines.Range(range.first, range.first + range.count);
  }
};

// By sorting, so that no choice of lines makes it slow.
void NumberLines(std::span<Text* const> texts) {
  struct Place {
    std::string_view line;
    uint32_t* number;
  };
  std::vector<Place> places;
  for (Text* text : texts)
    for (size_t i = 0; i < text->lines.size(); ++i)
      places.push_back({text->lines[i], &text->numbers[i]});
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.line < b.line; });
  uint32_t count = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i > 0 && places[i].line != places[i - 1].line) ++count;
    *places[i].number = count;
  }
}

uint32_t OldEnd(const Block& block) { return block.old_first + block.old_count; }
uint32_t End(LineRange range) { return range.first + range.count; }
LineRange Between(uint32_t first, uint32_t end) { return {first, end - first}; }

enum class Take : uint8_t { kOurs, kTheirs, kSame, kNeither };

// A place that at least one side changed. Places do not touch in any of the three texts.
struct Place {
  Take take = Take::kNeither;
  MergeConflict lines;
};

// The blocks of one side in base order, and the offset of its lines from the base's.
class Walk {
 public:
  explicit Walk(const std::vector<Block>& blocks) : blocks_(blocks) {}

  bool Done() const { return next_ == blocks_.size(); }
  const Block& Next() const { return blocks_[next_]; }
  uint32_t Start() const { return Done() ? 0xffffffff : Next().old_first; }
  uint32_t ToSide(uint32_t base_line) const { return base_line + offset_; }  // modulo 2^32
  void Pass() {
    offset_ = Next().new_first + Next().new_count - OldEnd(Next());
    ++next_;
  }

 private:
  const std::vector<Block>& blocks_;
  size_t next_ = 0;
  uint32_t offset_ = 0;
};

class Merge {
 public:
  Merge(std::string_view base, std::string_view ours, std::string_view theirs)
      : base_(base), ours_(ours), theirs_(theirs) {
    Text* const texts[] = {&base_, &ours_, &theirs_};
    NumberLines(texts);
  }

  Merged Run(const MergeLabels& labels) {
    FindPlaces();
    Refine();
    JoinClose();
    return Write(labels);
  }

 private:
  std::vector<Block> Edits(std::span<const uint32_t> from, std::span<const uint32_t> to) {
    return EditsLikeGit(from, to, work_);
  }

  // Blocks of both sides that touch in the base, directly or through others, form one place.
  void FindPlaces() {
    const std::vector<Block> our_edits = Edits(base_.numbers, ours_.numbers);
    const std::vector<Block> their_edits = Edits(base_.numbers, theirs_.numbers);
    Walk ours(our_edits);
    Walk theirs(their_edits);
    while (!ours.Done() || !theirs.Done()) {
      const uint32_t first = std::min(ours.Start(), theirs.Start());
      const uint32_t our_first = ours.ToSide(first);
      const uint32_t their_first = theirs.ToSide(first);
      const bool same = Same(ours, theirs);
      uint32_t end = first;
      bool we = false;
      bool they = false;
      while (ours.Start() <= end || theirs.Start() <= end) {
        Walk& walk = ours.Start() <= end ? ours : theirs;
        (&walk == &ours ? we : they) = true;
        end = std::max(end, OldEnd(walk.Next()));
        walk.Pass();
      }
      if (same) continue;  // our text already has it
      places_.push_back({we && they ? Take::kNeither
                         : we       ? Take::kOurs
                                    : Take::kTheirs,
                         {Between(first, end), Between(our_first, ours.ToSide(end)),
                          Between(their_first, theirs.ToSide(end))}});
    }
  }

  // Whether the next block of both sides is the same change. Then no other touches it.
  bool Same(const Walk& ours, const Walk& theirs) const {
    if (ours.Done() || theirs.Done()) return false;
    const Block& a = ours.Next();
    const Block& b = theirs.Next();
    return a.old_first == b.old_first && a.old_count == b.old_count &&
           std::ranges::equal(ours_.Of({a.new_first, a.new_count}),
                              theirs_.Of({b.new_first, b.new_count}));
  }

  // Reduces each conflict to the lines in which the sides differ.
  void Refine() {
    std::vector<Place> refined;
    for (const Place& place : places_) {
      const auto& [base, ours, theirs] = place.lines;
      if (place.take != Take::kNeither || ours.count == 0 || theirs.count == 0) {
        refined.push_back(place);
        continue;
      }
      const std::vector<Block> blocks = Edits(ours_.Of(ours), theirs_.Of(theirs));
      if (blocks.empty()) refined.push_back({Take::kSame, place.lines});
      for (const Block& block : blocks)
        refined.push_back({Take::kNeither,
                           {base,
                            {ours.first + block.old_first, block.old_count},
                            {theirs.first + block.new_first, block.new_count}}});
    }
    places_ = std::move(refined);
  }

  // Two conflicts with next to nothing between them are easier to read as one.
  void JoinClose() {
    std::vector<Place> joined;
    for (const Place& place : places_) {
      if (joined.empty() || joined.back().take != Take::kNeither || place.take != Take::kNeither ||
          !IsLittle(joined.back().lines, place.lines)) {
        joined.push_back(place);
        continue;
      }
      MergeConflict& last = joined.back().lines;
      last.base = Between(last.base.first, End(place.lines.base));
      last.ours = Between(last.ours.first, End(place.lines.ours));
      last.theirs = Between(last.theirs.first, End(place.lines.theirs));
    }
    places_ = std::move(joined);
  }

  bool IsLittle(const MergeConflict& before, const MergeConflict& behind) const {
    constexpr uint32_t kFew = 3;
    const LineRange gap = Between(End(before.ours), behind.ours.first);
    return gap.count <= kFew || std::ranges::none_of(ours_.TextOf(gap), [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
           });
  }

  Merged Write(const MergeLabels& labels) const {
    Merged merged;
    uint32_t written = 0;  // of our lines
    for (const auto& [take, lines] : places_) {
      merged.text += ours_.TextOf(Between(written, lines.ours.first));
      written = End(lines.ours);
      if (take == Take::kNeither) {
        AppendConflict(lines, labels, merged.text);
        merged.conflicts.push_back(lines);
      } else {
        merged.text +=
            take == Take::kTheirs ? theirs_.TextOf(lines.theirs) : ours_.TextOf(lines.ours);
      }
    }
    merged.text += ours_.TextOf(Between(written, static_cast<uint32_t>(ours_.lines.size())));
    return merged;
  }

  void AppendConflict(const MergeConflict& lines, const MergeLabels& labels,
                      std::string& text) const {
    const std::string_view newline = NewlineFor(lines);
    const auto marker = [&](char sign, const std::string& label) {
      text.append(7, sign);
      if (!label.empty()) text += " " + EscapeForTerminal(label);
      text += newline;
    };
    const auto side = [&](std::string_view part) {
      text += part;
      if (!part.empty() && !part.ends_with('\n')) text += newline;
    };
    marker('<', labels.ours);
    side(ours_.TextOf(lines.ours));
    marker('=', "");
    side(theirs_.TextOf(lines.theirs));
    marker('>', labels.theirs);
  }

  enum class Newline : uint8_t { kPlain, kCarriageReturn, kUnknown };

  // How a line ends. A last line without a newline counts like the one before it.
  static Newline NewlineOf(const Text& text, uint32_t line) {
    if (text.lines.size() == 0) return Newline::kUnknown;
    if (!text.lines[line].ends_with('\n')) {
      if (line == 0) return Newline::kUnknown;
      --line;
    }
    return text.lines[line].ends_with("\r\n") ? Newline::kCarriageReturn : Newline::kPlain;
  }

  // Markers end with CRLF if the lines before the conflict, or else the first lines, do.
  std::string_view NewlineFor(const MergeConflict& lines) const {
    const auto before = [](LineRange range) { return range.first == 0 ? 0 : range.first - 1; };
    Newline newline = NewlineOf(ours_, before(lines.ours));
    if (newline != Newline::kPlain) newline = NewlineOf(theirs_, before(lines.theirs));
    if (newline != Newline::kPlain) newline = NewlineOf(base_, 0);
    return newline == Newline::kCarriageReturn ? "\r\n" : "\n";
  }

  Text base_;
  Text ours_;
  Text theirs_;
  uint64_t work_ = kMergeWork;
  std::vector<Place> places_;
};

Status CheckText(std::string_view name, std::string_view text) {
  if (text.find('\0') != std::string_view::npos)
    return Fail(Code::kInvalid, fmt::format("merge texts: {} is binary", name),
                "take one side as it is");
  const auto newlines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (text.size() > kMaxMergeBytes || newlines >= kMaxMergeLines)
    return Fail(Code::kExhausted,
                fmt::format("merge texts: {} is larger than {} or {} lines", name,
                            FormatBytes(kMaxMergeBytes), kMaxMergeLines),
                "take one side as it is, or merge it with another tool");
  return {};
}

}  // namespace

Result<Merged> MergeTexts(std::string_view base, std::string_view ours, std::string_view theirs,
                          const MergeLabels& labels) {
  CLOCHE_TRY(CheckText("the base", base));
  CLOCHE_TRY(CheckText("our side", ours));
  CLOCHE_TRY(CheckText("their side", theirs));
  return Merge(base, ours, theirs).Run(labels);
}

}  // namespace cloche::rules
