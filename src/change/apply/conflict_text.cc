#include "change/apply/conflict_text.h"

#include <fmt/core.h>

#include "change/model/lines.h"
#include "change/rules/merge3.h"
#include "sys/file.h"

namespace cloche::apply {
namespace {

constexpr size_t kMostLine = 400;

void AddLine(std::string_view sign, std::string_view line, std::vector<std::string>& out) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  out.push_back(std::string(sign) + std::string(line.substr(0, kMostLine)));
}

void Shorten(std::vector<std::string>& lines) {
  if (lines.size() <= kMostLinesShown) return;
  const size_t more = lines.size() - kMostLinesShown;
  lines.resize(kMostLinesShown);
  lines.push_back(fmt::format("... {} more lines", more));
}

}  // namespace

std::optional<std::string> ReadText(const walk::LayerFile& place) {
  const sys::Fd file = walk::OpenFile(place);
  std::string text;
  if (!file.valid() || sys::ReadAll(file.get(), text, rules::kMaxMergeBytes) < 0)
    return std::nullopt;
  return text;
}

void SetText(change::Change& change, std::string_view old_text, std::string_view text) {
  change::Side& side = *change.new_side;
  side.size = text.size();
  side.sha256 = change::HashOf(text);
  change.binary = change::IsBinary(old_text) || change::IsBinary(text);
  change.lines.reset();
  if (auto lines = change.binary ? std::nullopt : change::DiffLines(old_text, text))
    change.lines = change::LineCounts{lines->added, lines->removed};
  if (change.old_side) change.differs = change::Compare(*change.old_side, side);
}

std::vector<std::string> DifferingLines(std::string_view ours, std::string_view theirs) {
  std::vector<std::string> lines;
  if (change::IsBinary(ours) || change::IsBinary(theirs)) return lines;
  const auto found = change::DiffLines(ours, theirs);
  if (!found) return lines;
  for (const change::Block& block : found->blocks) {
    lines.push_back(fmt::format("line {}: - reality, + sandbox", block.old_first + 1));
    for (uint32_t i = 0; i < block.old_count; ++i)
      AddLine("-", found->old_lines[block.old_first + i], lines);
    for (uint32_t i = 0; i < block.new_count; ++i)
      AddLine("+", found->new_lines[block.new_first + i], lines);
  }
  Shorten(lines);
  return lines;
}

std::vector<std::string> ConflictLines(std::string_view merged) {
  std::vector<std::string> lines;
  bool inside = false;
  const change::LineIndex index(merged);
  for (size_t i = 0; i < index.size(); ++i) {
    inside = inside || index[i].starts_with("<<<<<<< ");
    if (inside) AddLine("", index[i], lines);
    if (index[i].starts_with(">>>>>>> ")) inside = false;
  }
  Shorten(lines);
  return lines;
}

}  // namespace cloche::apply
