#include "change/model/patch.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>

#include "change/model/binary_patch.h"

namespace cloche::change {
namespace {

// A file or a symlink as git sees it.
struct Blob {
  std::string name;  // relative to the root
  bool symlink = false;
  bool executable = false;
  std::string_view content;

  std::string_view Mode() const { return symlink ? "120000" : executable ? "100755" : "100644"; }
};

constexpr size_t kMostLiteral = 64 << 20;  // of a binary file that is included whole

bool IsGitDirectory(std::string_view component) {
  return component.size() == 4 && component[0] == '.' && (component[1] | 0x20) == 'g' &&
         (component[2] | 0x20) == 'i' && (component[3] | 0x20) == 't';
}

// git apply refuses the whole patch if one name is in a .git.
bool HasGitDirectory(std::string_view name) {
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('/', start), name.size());
    if (IsGitDirectory(name.substr(start, end - start))) return true;
    start = end + 1;
  }
  return false;
}

std::optional<Blob> BlobOf(const std::string& path, const std::optional<Side>& side,
                           std::string_view content, std::string_view root) {
  if (!side) return std::nullopt;
  Blob blob{.symlink = side->type == FileType::kSymlink};
  if (!blob.symlink && side->type != FileType::kFile) return std::nullopt;
  if (root == "/") root = "";
  if (!path.starts_with(root) || path.size() < root.size() + 2 || path[root.size()] != '/')
    return std::nullopt;
  blob.name = path.substr(root.size() + 1);
  if (HasGitDirectory(blob.name)) return std::nullopt;
  blob.executable = !blob.symlink && (side->mode & 0100) != 0;
  blob.content = blob.symlink ? std::string_view(side->target) : content;
  return blob;
}

// In --- and +++ lines, a name with a space ends with a tab; otherwise patch would cut it.
std::string LabelLine(std::string_view marker, std::string_view label) {
  const bool bare_space = !label.starts_with('"') && label.find(' ') != std::string_view::npos;
  return fmt::format("{} {}{}\n", marker, label, bare_space ? "\t" : "");
}

// patch reads a name with spaces only from --- and +++, and not if its last character is a space.
// In quotes it reads it anywhere; so does git, though it never writes quotes for a space.
std::string QuoteForPatch(std::string_view name, bool spaces_too) {
  std::string quoted = GitQuote(name);
  if (spaces_too && !quoted.starts_with('"') && quoted.find(' ') != std::string::npos)
    quoted = fmt::format("\"{}\"", quoted);
  return quoted;
}

std::string RangeText(size_t first, size_t count) {
  // An empty range is named by the line before it.
  const size_t start = count == 0 ? first : first + 1;
  return count == 1 ? fmt::format("{}", start) : fmt::format("{},{}", start, count);
}

// Collects small pieces and passes on large ones, so that a patch of any size takes little memory.
class Output {
 public:
  explicit Output(const PatchSink& sink) : sink_(sink) {}

  void Put(std::string_view text) {
    if (pending_.size() + text.size() > kPiece) Flush();
    if (text.size() > kPiece) {
      wanted_ = wanted_ && sink_(text);
    } else {
      pending_ += text;
    }
  }
  void Flush() {
    if (!pending_.empty()) wanted_ = wanted_ && sink_(pending_);
    pending_.clear();
  }
  bool wanted() const { return wanted_; }

 private:
  static constexpr size_t kPiece = 64 << 10;
  const PatchSink& sink_;
  std::string pending_;
  bool wanted_ = true;
};

void PutLines(Output& out, std::string_view mark, const LineIndex& lines, size_t first,
              size_t count) {
  for (size_t i = first; i < first + count && out.wanted(); ++i) {
    const std::string_view line = lines[i];
    out.Put(mark);
    out.Put(line);
    if (!line.ends_with('\n')) out.Put("\n\\ No newline at end of file\n");
  }
}

// Writes the blocks of one hunk, with the equal lines between and around them.
void PutHunk(Output& out, const LineDiff& diff, std::span<const Block> blocks, size_t context) {
  const Block& front = blocks.front();
  const Block& back = blocks.back();
  const size_t lead = std::min<size_t>(front.old_first, context);
  const size_t old_first = front.old_first - lead;
  const size_t new_first = front.new_first - lead;
  const size_t back_end = back.old_first + back.old_count;
  const size_t old_end = back_end + std::min(diff.old_lines.size() - back_end, context);
  const size_t new_end = back.new_first + back.new_count + (old_end - back_end);
  out.Put(fmt::format("@@ -{} +{} @@\n", RangeText(old_first, old_end - old_first),
                      RangeText(new_first, new_end - new_first)));
  size_t next = old_first;
  for (const Block& block : blocks) {
    PutLines(out, " ", diff.old_lines, next, block.old_first - next);
    PutLines(out, "-", diff.old_lines, block.old_first, block.old_count);
    PutLines(out, "+", diff.new_lines, block.new_first, block.new_count);
    next = block.old_first + block.old_count;
  }
  PutLines(out, " ", diff.old_lines, next, old_end - next);
}

void PutHunks(Output& out, const LineDiff& diff, size_t context) {
  const std::span<const Block> blocks = diff.blocks;
  for (size_t first = 0; first < blocks.size() && out.wanted();) {
    size_t end = first + 1;
    while (end < blocks.size() &&
           blocks[end].old_first - (blocks[end - 1].old_first + blocks[end - 1].old_count) <=
               2 * context)
      ++end;
    PutHunk(out, diff, blocks.subspan(first, end - first), context);
    first = end;
  }
}

// How much of the larger content both share, in percent.
unsigned Similarity(const std::optional<LineDiff>& diff, const Blob& from, const Blob& to) {
  if (from.content == to.content) return 100;
  if (!diff) return 0;
  size_t removed = 0;
  for (const Block& block : diff->blocks)
    removed += diff->old_lines.Range(block.old_first, block.old_first + block.old_count).size();
  const size_t larger = std::max(from.content.size(), to.content.size());
  return std::min(99u, static_cast<unsigned>((from.content.size() - removed) * 100 / larger));
}

// From one blob to another, or from or to nothing. Both have the same type.
void PutPair(Output& out, const Blob* from, const Blob* to, const PatchOptions& options) {
  const std::string& old_name = (from != nullptr ? from : to)->name;
  const std::string& new_name = (to != nullptr ? to : from)->name;
  const std::string_view old_content = from != nullptr ? from->content : std::string_view();
  const std::string_view new_content = to != nullptr ? to->content : std::string_view();
  const bool same = old_content == new_content;
  std::optional<LineDiff> diff;
  if (!IsBinary(old_content) && !IsBinary(new_content))
    diff = DiffLines(old_content, new_content, options.bounds);

  const bool renamed = old_name != new_name;
  const bool quote = same || renamed || new_name.ends_with(' ');
  const std::string from_label = QuoteForPatch("a/" + old_name, quote);
  const std::string to_label = QuoteForPatch("b/" + new_name, quote);
  std::string head = fmt::format("diff --git {} {}\n", from_label, to_label);
  if (from == nullptr) {
    head += fmt::format("new file mode {}\n", to->Mode());
  } else if (to == nullptr) {
    head += fmt::format("deleted file mode {}\n", from->Mode());
  } else {
    if (from->Mode() != to->Mode())
      head += fmt::format("old mode {}\nnew mode {}\n", from->Mode(), to->Mode());
    if (renamed)
      head += fmt::format("similarity index {}%\nrename from {}\nrename to {}\n",
                          Similarity(diff, *from, *to), QuoteForPatch(old_name, quote),
                          QuoteForPatch(new_name, quote));
  }
  const bool literal =
      !same && !diff && old_content.size() <= kMostLiteral && new_content.size() <= kMostLiteral;
  const std::string nothing(GitBlobName("").size(), '0');
  // Without this line, patch neither touches a symlink nor deletes an empty file.
  if (from != nullptr && to != nullptr && from->symlink && !same) {
    head += fmt::format("index {}..{} {}\n", GitBlobName(old_content), GitBlobName(new_content),
                        from->Mode());
  } else if (literal || (same && (from == nullptr || to == nullptr))) {
    head += fmt::format("index {}..{}\n", from != nullptr ? GitBlobName(old_content) : nothing,
                        to != nullptr ? GitBlobName(new_content) : nothing);
  }
  const std::string from_side = from != nullptr ? from_label : "/dev/null";
  const std::string to_side = to != nullptr ? to_label : "/dev/null";
  if (literal)
    head += "GIT binary patch\n";
  else if (!same && !diff)
    head += fmt::format("Binary files {} and {} differ\n", from_side, to_side);
  else if (!same)
    head += LabelLine("---", from_side) + LabelLine("+++", to_side);
  out.Put(head);
  // Both directions, as git writes it.
  if (literal)
    for (const std::string_view content : {new_content, old_content})
      WriteLiteral(content, [&](std::string_view piece) {
        out.Put(piece);
        return out.wanted();
      });
  if (diff) PutHunks(out, *diff, options.context);
}

}  // namespace

std::string GitQuote(std::string_view name) {
  constexpr std::string_view kNamed = "\a\b\t\n\v\f\r\"\\";
  constexpr std::string_view kLetters = "abtnvfr\"\\";
  std::string quoted = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (const size_t named = kNamed.find(c); named != std::string_view::npos) {
      quoted += '\\';
      quoted += kLetters[named];
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted.size() == name.size() + 1 ? std::string(name) : quoted + '"';
}

PatchResult WritePatch(const Change& change, std::string_view old_content,
                       std::string_view new_content, const PatchOptions& options,
                       const PatchSink& sink) {
  const std::string& old_path = change.old_path.empty() ? change.path : change.old_path;
  const auto from = BlobOf(old_path, change.old_side, old_content, options.root);
  const auto to = BlobOf(change.path, change.new_side, new_content, options.root);
  if (!from && !to) return PatchResult::kNotHeld;
  if (from && to && from->name == to->name && from->Mode() == to->Mode() &&
      from->content == to->content)
    return PatchResult::kNotHeld;
  // git writes a type change as a deletion and an addition. It would write a moved symlink as a
  // rename, but patch accepts those only for files.
  const bool apart =
      from && to && (from->symlink != to->symlink || (from->symlink && from->name != to->name));
  const Blob* const old_blob = from ? &*from : nullptr;
  const Blob* const new_blob = to ? &*to : nullptr;
  Output out(sink);
  if (apart) {
    PutPair(out, old_blob, nullptr, options);
    PutPair(out, nullptr, new_blob, options);
  } else {
    PutPair(out, old_blob, new_blob, options);
  }
  out.Flush();
  return out.wanted() ? PatchResult::kWritten : PatchResult::kStopped;
}

}  // namespace cloche::change
