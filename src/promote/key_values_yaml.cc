#include <algorithm>

#include "promote/key_values.h"
#include "promote/line_sets.h"

namespace cloche::promote {
namespace {

struct Level {
  size_t indent;
  std::string path;
};

size_t IndentOf(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// A value without the comment after it.
std::string_view WithoutComment(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if ((c == '"' || c == '\'') && (i == 0 || text[i - 1] == ' ')) {
      quote = c;
    } else if (c == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) {
      return Trim(text.substr(0, i));
    }
  }
  return Trim(text);
}

// Where the colon after a key is; npos: there is no key.
size_t ColonOf(std::string_view text) {
  size_t at = 0;
  if (text.starts_with('"') || text.starts_with('\'')) {
    at = text.find(text.front(), 1);
    if (at == text.npos) return at;
    ++at;
    while (at < text.size() && text[at] == ' ') ++at;
    return at < text.size() && text[at] == ':' ? at : text.npos;
  }
  for (at = text.find(':'); at != text.npos; at = text.find(':', at + 1))
    if (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\t') return at;
  return text.npos;
}

// Drops tags and anchors: `!!str &x run` -> `run`.
std::string_view WithoutMarks(std::string_view text) {
  while (text.starts_with('!') || text.starts_with('&')) {
    const size_t end = text.find(' ');
    if (end == text.npos) return {};
    text = Trim(text.substr(end));
  }
  return text;
}

// Brackets that are open after a text; those within quotes are no brackets.
int Balance(std::string_view text) {
  int open = 0;
  char quote = 0;
  char previous = ',';  // a quote begins a string only where a value begins
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;
      continue;
    }
    const bool begins = std::string_view(",:[{").find(previous) != std::string_view::npos;
    if ((c == '"' || c == '\'') && begins) quote = c;
    open += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (c != ' ') previous = c;
  }
  return open;
}

// Line by line, by indentation. What is not plain block style is either read as it is or given
// under a doubtful key: nothing that a real parser would find is left out.
class Reader {
 public:
  bool Take(std::string_view raw) {
    const size_t indent = IndentOf(raw);
    const std::string_view line = Trim(raw);
    if (line.empty()) return true;
    if (open_ > 0) return Flow(line);
    if (in_block_) {
      if (indent > block_indent_) {
        const bool comment = line.starts_with('#') && !line.starts_with("#!");
        return comment || Add(levels_.back().path, line);
      }
      in_block_ = false;
    }
    if (line.starts_with('#') || line == "---" || line == "...") return true;
    if (line.starts_with('%') || raw.substr(indent).starts_with('\t'))
      return Add(std::string(kDoubtful), line);
    return Entry(indent, WithoutComment(line));
  }
  bool Finish() const { return open_ <= 0; }
  KeyValues out;

 private:
  bool Add(const std::string& key, std::string_view value) {
    if (out.size() >= kMaxKeyValues || key.size() > kMaxKey) return false;
    out.push_back({key, std::string(value)});
    return true;
  }

  bool Flow(std::string_view line) {
    flow_.append(" ").append(WithoutComment(line));
    open_ += Balance(WithoutComment(line));
    if (open_ <= 0) ReadFlow(levels_.back().path, flow_, ':', out);
    return out.size() <= kMaxKeyValues;
  }

  bool Entry(size_t indent, std::string_view line) {
    // `- - key: value`: each dash opens a list one column further in.
    bool item = false;
    size_t dash = indent;
    while (line == "-" || line.starts_with("- ")) {
      // A list may stand at the column of the key it belongs to.
      Pop(indent, /*keep_equal=*/true);
      if (levels_.size() > kMaxDepth) return false;
      if (!levels_.back().path.ends_with("[]") || levels_.back().indent != indent)
        levels_.push_back({indent, levels_.back().path + "[]"});
      dash = indent;
      const std::string_view rest = Trim(line.substr(1));
      indent += line.size() - rest.size();
      line = rest;
      item = true;
      if (line.empty()) return true;
    }
    if (item && (line.starts_with('|') || line.starts_with('>'))) {
      in_block_ = true;
      block_indent_ = dash;
      return true;
    }
    if (line.starts_with("? ") || line == "?") return Add(std::string(kDoubtful), line);
    line = WithoutMarks(line);
    if (line.starts_with('{') || line.starts_with('[')) return Open(line);
    const size_t colon = ColonOf(line);
    if (colon == line.npos) {
      if (!item) Pop(indent, /*keep_equal=*/false);
      return line.empty() || Add(levels_.back().path, Unquoted(line));
    }
    return Pair(indent, Trim(line.substr(0, colon)), WithoutMarks(Trim(line.substr(colon + 1))));
  }

  bool Pair(size_t indent, std::string_view name, std::string_view value) {
    Pop(indent, /*keep_equal=*/false);
    if (levels_.size() > kMaxDepth) return false;
    std::string path = levels_.back().path;
    if (!path.empty()) path.push_back('.');
    const bool doubtful = name.find('\\') != name.npos || name.starts_with('*');
    path.append(doubtful ? kDoubtful : Unquoted(name));
    if (path.size() > kMaxKey) return false;
    levels_.push_back({indent, std::move(path)});
    if (value.empty()) return true;
    if (value.starts_with('|') || value.starts_with('>')) {
      in_block_ = true;
      block_indent_ = indent;
      return true;
    }
    if (value.starts_with('{') || value.starts_with('[')) return Open(value);
    return Add(levels_.back().path, Unquoted(value));
  }

  bool Open(std::string_view text) {
    flow_ = text;
    open_ = Balance(text);
    if (open_ <= 0) ReadFlow(levels_.back().path, flow_, ':', out);
    return out.size() <= kMaxKeyValues;
  }

  void Pop(size_t indent, bool keep_equal) {
    while (levels_.size() > 1 &&
           (levels_.back().indent > indent || (levels_.back().indent == indent && !keep_equal)))
      levels_.pop_back();
  }

  std::vector<Level> levels_ = {{0, ""}};
  bool in_block_ = false;
  size_t block_indent_ = 0;
  int open_ = 0;
  std::string flow_;
};

}  // namespace

std::optional<KeyValues> ReadYaml(std::string_view text) {
  Reader reader;
  for (const std::string_view line : Lines(text))
    if (!reader.Take(line)) return std::nullopt;
  if (!reader.Finish()) return std::nullopt;
  return std::move(reader.out);
}

}  // namespace cloche::promote
