#include "change/model/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/shown_path.h"
#include "base/text.h"

namespace cloche::change {
namespace {

uint64_t Sum(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

// The end of an escaped name, in at most `width` columns; starts at a component if possible.
std::string ShortName(const std::string& name, size_t width) {
  // No suffix that fits is longer than this, whatever the width of its characters.
  std::string_view end = name;
  const bool far = end.size() > 16 * width;
  if (far) end.remove_prefix(end.size() - 16 * width);
  const auto drop_one = [&end] {
    const std::string_view before = end;
    do end.remove_prefix(1);
    while (!end.empty() && (static_cast<unsigned char>(end[0]) & 0xc0) == 0x80);
    return DisplayWidth(before.substr(0, before.size() - end.size()));
  };
  if (far) drop_one();
  if (!far && DisplayWidth(end) <= width) return name;
  constexpr std::string_view kDots = "...";
  const size_t left = width > kDots.size() ? width - kDots.size() : 0;
  for (size_t shown = DisplayWidth(end); shown > left && !end.empty();) {
    const size_t dropped = drop_one();
    shown -= std::min(shown, dropped);
  }
  if (const size_t slash = end.find('/'); slash != std::string_view::npos) end.remove_prefix(slash);
  return std::string(kDots).append(end);
}

std::string ModeText(const Side& side) { return fmt::format("{:04o}", side.mode); }

// Says what line counts do not.
std::string NoteOf(const Change& change) {
  const auto typed = [](std::string_view word, const Side& side) {
    return side.type == FileType::kFile ? fmt::format("({})", word)
                                        : fmt::format("({} {})", word, TypeName(side.type));
  };
  if (!change.old_side)
    return (change.new_side->mode & 06000) != 0
               ? fmt::format("(new, mode {})", ModeText(*change.new_side))
               : typed("new", *change.new_side);
  if (!change.new_side) return typed("gone", *change.old_side);
  const Side& from = *change.old_side;
  const Side& to = *change.new_side;
  std::vector<std::string> parts;
  if (change.differs.type)
    parts.push_back(fmt::format("{} -> {}", TypeName(from.type), TypeName(to.type)));
  else if (change.differs.mode)
    parts.push_back(fmt::format("mode {} -> {}", ModeText(from), ModeText(to)));
  if (change.differs.owner)
    parts.push_back(fmt::format("owner {}:{} -> {}:{}", from.uid, from.gid, to.uid, to.gid));
  if (change.differs.xattr) parts.emplace_back("attributes");
  if (change.differs.target) parts.emplace_back("target");
  if (change.differs.device) parts.emplace_back("device number");
  std::string note;
  for (const std::string& part : parts) note += (note.empty() ? "(" : ", ") + part;
  return note.empty() ? note : note + ")";
}

// Shown instead of a line count; "" = there is one.
std::string TextOf(const Change& change) {
  if (change.lines) return "";
  if (change.new_side && change.new_side->type == FileType::kSymlink)
    return "-> " + ShownPath(change.new_side->target);
  const auto is_file = [](const std::optional<Side>& side) {
    return side && side->type == FileType::kFile;
  };
  if (!is_file(change.old_side) && !is_file(change.new_side)) return "-";
  const bool content =
      change.differs.content || change.differs.type || !change.old_side || !change.new_side;
  if (!content) return "";
  return fmt::format("{}{} -> {} bytes", change.binary ? "Bin " : "",
                     is_file(change.old_side) ? change.old_side->size : 0,
                     is_file(change.new_side) ? change.new_side->size : 0);
}

// At least 1 for a nonzero count. Uses doubles, because counts may be as large as integers get.
size_t Scaled(uint64_t count, size_t width, uint64_t largest) {
  if (count == 0) return 0;
  return 1 + static_cast<size_t>(static_cast<double>(count) * static_cast<double>(width - 1) /
                                 static_cast<double>(largest));
}

std::string Graph(uint64_t added, uint64_t removed, size_t width, uint64_t largest, bool colour) {
  auto plus = static_cast<size_t>(added);
  auto minus = static_cast<size_t>(removed);
  if (largest > width) {
    size_t total = Scaled(Sum(added, removed), width, largest);
    if (total < 2 && added > 0 && removed > 0) total = 2;
    if (added < removed) {
      plus = Scaled(added, width, largest);
      minus = total - std::min(plus, total);
    } else {
      minus = Scaled(removed, width, largest);
      plus = total - std::min(minus, total);
    }
  }
  const auto painted = [colour](const std::string& text, const char* code) {
    return colour && !text.empty() ? code + text + "\x1b[0m" : text;
  };
  return painted(std::string(plus, '+'), "\x1b[32m") + painted(std::string(minus, '-'), "\x1b[31m");
}

std::string Relative(const std::string& path, std::string_view root) {
  if (root == "/") root = "";
  const bool below = !root.empty() && path.starts_with(root) && path.size() > root.size() + 1 &&
                     path[root.size()] == '/';
  return below ? path.substr(root.size() + 1) : path;
}

std::string TotalLine(const Counts& total) {
  const auto plural = [](uint64_t n) { return n == 1 ? "" : "s"; };
  std::string line = fmt::format(" {} file{} changed", total.Changes(), plural(total.Changes()));
  if (total.lines_added > 0)
    line += fmt::format(", {} insertion{}(+)", total.lines_added, plural(total.lines_added));
  if (total.lines_removed > 0)
    line += fmt::format(", {} deletion{}(-)", total.lines_removed, plural(total.lines_removed));
  return line + "\n";
}

}  // namespace

void Counts::Add(const Change& change) {
  uint64_t& kind = change.kind == ChangeKind::kAdded     ? added
                   : change.kind == ChangeKind::kDeleted ? deleted
                   : change.kind == ChangeKind::kRenamed ? renamed
                                                         : modified;
  ++kind;
  if (change.lines) {
    lines_added = Sum(lines_added, change.lines->added);
    lines_removed = Sum(lines_removed, change.lines->removed);
  }
  if (change.new_side && (!change.old_side || change.differs.content || change.differs.type))
    bytes = Sum(bytes, change.new_side->size);
}

void Counts::Add(const Counts& other) {
  added += other.added;
  modified += other.modified;
  deleted += other.deleted;
  renamed += other.renamed;
  lines_added = Sum(lines_added, other.lines_added);
  lines_removed = Sum(lines_removed, other.lines_removed);
  bytes = Sum(bytes, other.bytes);
}

void Summary::Add(const Change& change) {
  // An unknown group hides nothing.
  const Group group = GroupFromName(change.noise).value_or(Group::kReal);
  counts_[static_cast<size_t>(group)].Add(change);
}

Counts Summary::Total() const {
  Counts total;
  for (const Counts& counts : counts_) total.Add(counts);
  return total;
}

StatTable::StatTable(StatOptions options) : options_(std::move(options)) {
  options_.width = std::clamp<size_t>(options_.width, 20, 1000);
}

std::string StatTable::NameOf(const Change& change) const {
  const auto shown = [this](const std::string& path) {
    return EscapeForTerminal(Relative(path, options_.root));
  };
  const std::string name =
      change.old_path.empty() ? shown(change.path)
      : !change.new_side      ? shown(change.old_path)
                              : fmt::format("{} => {}", shown(change.old_path), shown(change.path));
  return ShortName(name, options_.width);
}

void StatTable::Add(const Change& change) {
  total_.Add(change);
  if (rows_.size() >= options_.rows) return;
  Row row{.name = NameOf(change), .note = NoteOf(change), .text = TextOf(change)};
  if (change.lines) {
    row.added = change.lines->added;
    row.removed = change.lines->removed;
  }
  rows_.push_back(std::move(row));
}

std::string StatTable::Render() const {
  if (total_.Changes() == 0) return "";
  size_t name_width = 0;
  size_t number_width = 1;
  uint64_t largest = 0;
  for (const Row& row : rows_) {
    const size_t note = row.note.empty() ? 0 : row.note.size() + 1;
    name_width = std::max(name_width, DisplayWidth(row.name) + note);
    largest = std::max(largest, Sum(row.added, row.removed));
  }
  number_width = fmt::formatted_size("{}", largest);
  // Divided as in git: the graph gets at most three eighths if the names need the room.
  const size_t frame = number_width + 6;
  const size_t width = std::max(options_.width, frame + 12);
  auto graph_width = static_cast<size_t>(std::min<uint64_t>(largest, width));
  if (name_width + frame + graph_width > width) {
    const size_t share = width * 3 / 8;
    const size_t most = std::max<size_t>(6, share > frame ? share - frame : 0);
    graph_width = std::min(graph_width, most);
    name_width = std::min(name_width, width - frame - graph_width);
    if (largest > graph_width)
      graph_width = static_cast<size_t>(std::min<uint64_t>(largest, width - frame - name_width));
  }
  std::string out;
  for (const Row& row : rows_) {
    const size_t note = row.note.empty() ? 0 : row.note.size() + 1;
    const size_t room = name_width > note ? name_width - note : 0;
    std::string name = ShortName(row.name, std::max<size_t>(room, 8));
    if (note > 0) name += " " + row.note;
    const size_t used = DisplayWidth(name);
    out += " " + name + std::string(name_width > used ? name_width - used : 0, ' ') + " | ";
    if (!row.text.empty()) {
      out += row.text + "\n";
      continue;
    }
    const uint64_t lines = Sum(row.added, row.removed);
    out += fmt::format("{:>{}}", lines, number_width);
    if (lines > 0)
      out += " " + Graph(row.added, row.removed, std::max<size_t>(graph_width, 1), largest,
                         options_.colour);
    out += "\n";
  }
  if (total_.Changes() > rows_.size())
    out += fmt::format(" ... and {} more\n", total_.Changes() - rows_.size());
  return out + TotalLine(total_);
}

}  // namespace cloche::change
