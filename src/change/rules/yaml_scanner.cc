#include "change/rules/yaml_scanner.h"

#include <algorithm>

#include "change/rules/code_lines.h"
#include "change/rules/line_sets.h"

namespace cloche::rules {
namespace {

void AppendUtf8(std::string& out, uint32_t c) {
  const auto byte = [&](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | c >> 6);
    byte(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    byte(0xe0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3f));
    byte(0x80 | (c & 0x3f));
  } else {
    byte(0xf0 | (c >> 18 & 0x07));
    byte(0x80 | (c >> 12 & 0x3f));
    byte(0x80 | (c >> 6 & 0x3f));
    byte(0x80 | (c & 0x3f));
  }
}

std::string Script(std::string_view body) {
  std::string out;
  for (const CodeLine& line : CodeLines(body, Comments::kSpacedHash)) {
    if (!out.empty()) out.push_back('\n');
    out.append(line.text);
  }
  return out;
}

}  // namespace

bool YamlScanner::RestIsEmpty() {
  const size_t begin = at_;
  while (Peek() == ' ' || Peek() == '\t') ++at_;
  const bool separated = at_ > begin || Column() == 0;
  if (!AtLineEnd() && !(Peek() == '#' && separated)) {
    const std::string_view skipped = text_.substr(begin, at_ - begin);
    return skipped.find('\t') == skipped.npos ? false : Fail();
  }
  NextLine();
  return true;
}

bool YamlScanner::Skip(bool flow) {
  while (!AtEnd()) {
    const bool fresh = Column() == 0;
    const size_t begin = at_;
    while (Peek() == ' ' && !AtEnd()) ++at_;
    if (Peek() == '\t') {
      // A tab before the line end or a comment has no effect.
      size_t after = at_;
      while (after < text_.size() && (text_[after] == '\t' || text_[after] == ' ')) ++after;
      const char c = after < text_.size() ? text_[after] : '\n';
      if (c != '\n' && c != '\r' && c != '#' && !flow) return Fail();
      at_ = after;
    }
    if (AtEnd()) return false;
    if (AtLineEnd()) {
      NextLine();
    } else if (Peek() == '#' && (fresh || at_ > begin || Column() == 0)) {
      NextLine();
    } else {
      return true;
    }
  }
  return false;
}

bool YamlScanner::KeyFollows() {
  const size_t at = at_;
  std::string key;
  const bool found = Key(key);
  at_ = at;
  return found;
}

bool YamlScanner::Key(std::string& key) {
  if (Peek() == '"' || Peek() == '\'') {
    const size_t end = text_.find('\n', at_);
    const std::string_view rest = text_.substr(0, end);
    YamlScanner one(rest);  // a key must end on its line
    one.at_ = at_;
    one.line_ = line_;
    key.clear();
    if (!one.Quoted(key, kNoIndent)) return false;
    at_ = one.at_;
    while (Peek() == ' ') ++at_;
  } else {
    const size_t begin = at_;
    while (!AtLineEnd() && !(Peek() == ':' && BlankAt(1))) {
      if (Peek() == '#' && at_ > begin && text_[at_ - 1] == ' ') return false;
      ++at_;
    }
    key = TrimLine(text_.substr(begin, at_ - begin));
    // A plain key cannot start like another token.
    if (key.empty() || key.find('\t') != key.npos) return false;
  }
  if (AtEnd() || Peek() != ':' || !BlankAt(1)) return false;
  ++at_;
  return true;
}

bool YamlScanner::Scalar(std::string& text, int parent, bool flow) {
  if (Peek() == '"' || Peek() == '\'') return Quoted(text, parent);
  return Plain(text, parent, flow);
}

bool YamlScanner::Plain(std::string& text, int parent, bool flow) {
  constexpr std::string_view kNever = "&*!|>%@`#,[]{}\"'";
  const char first = Peek();
  if (kNever.find(first) != kNever.npos) return Fail();
  if ((first == '-' || first == '?' || first == ':') && (BlankAt(1) || IsFlowMark(Peek(1))))
    return Fail();
  while (true) {
    const size_t begin = at_;
    while (!AtLineEnd()) {
      const char c = Peek();
      if (c == '\t') return Fail();
      if (c == '#' && at_ > begin && text_[at_ - 1] == ' ') {
        --at_;  // the blank makes it a comment
        break;
      }
      if (c == ':' && BlankAt(1)) {
        if (!flow) return Fail();  // a key is not allowed here
        break;
      }
      if (flow && c == ':' && IsFlowMark(Peek(1))) return Fail();
      if (flow && IsFlowMark(c)) break;
      ++at_;
    }
    if (!text.empty()) text.push_back(' ');
    text.append(TrimLine(text_.substr(begin, at_ - begin)));
    if (!AtLineEnd()) return true;  // a comment, or the end in flow style
    if (!ContinuesPlain(parent, flow)) return !failed_;
  }
}

// Advances to the next line of a plain scalar, if there is one.
bool YamlScanner::ContinuesPlain(int parent, bool flow) {
  const size_t at = at_;
  const size_t line = line_;
  const auto back = [&] {
    at_ = at;
    line_ = line;
    return false;
  };
  do NextLine();
  while (!AtEnd() && TrimLine(Line()).empty());
  if (AtEnd() || AtMarker()) return back();
  while (Peek() == ' ') ++at_;
  if (Peek() == '\t') return Fail();
  if (Peek() == '#' || (!flow && Column() <= parent)) return back();
  if (flow && IsFlowMark(Peek())) return back();
  if (flow && Peek() == ':' && BlankAt(1)) return Fail();
  return true;
}

bool YamlScanner::Quoted(std::string& text, int parent) {
  const char quote = Peek();
  ++at_;
  while (!AtEnd()) {
    const char c = Peek();
    if (c == quote) {
      ++at_;
      if (quote == '"' || Peek() != '\'' || AtEnd()) return true;
      text.push_back('\'');
      ++at_;
    } else if (c == '\n' || c == '\r') {
      if (!Fold(text, parent)) return false;
    } else if (c == '\\' && quote == '"') {
      ++at_;
      if (AtLineEnd()) {
        NextLine();
        if (AtMarker()) return Fail();
        while (Peek() == ' ' || Peek() == '\t') ++at_;
        if (Column() <= parent) return Fail();
      } else if (!Escape(text)) {
        return Fail();
      }
    } else {
      text.push_back(c);
      ++at_;
    }
  }
  return Fail();
}

// One line end becomes a blank, each further one stays.
bool YamlScanner::Fold(std::string& text, int parent) {
  while (text.ends_with(' ') || text.ends_with('\t')) text.pop_back();
  size_t ends = 0;
  do {
    NextLine();
    ++ends;
    if (AtEnd() || AtMarker()) return Fail();
    while (Peek() == ' ' || Peek() == '\t') ++at_;
  } while (AtLineEnd() && !AtEnd());
  if (AtEnd() || Column() <= parent) return Fail();
  text.append(ends == 1 ? " " : std::string(ends - 1, '\n'));
  return true;
}

bool YamlScanner::Escape(std::string& text) {
  constexpr std::string_view kNames = "0abt\tnvfre \"/\\";
  constexpr std::string_view kMeant("\0\a\b\t\t\n\v\f\r\x1b \"/\\", 14);
  const char c = text_[at_++];
  if (const size_t i = kNames.find(c); i != kNames.npos) {
    text.push_back(kMeant[i]);
    return true;
  }
  if (c == 'N' || c == '_' || c == 'L' || c == 'P') {
    AppendUtf8(text, c == 'N' ? 0x85 : c == '_' ? 0xa0 : c == 'L' ? 0x2028 : 0x2029);
    return true;
  }
  const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits == 0 || at_ + digits > text_.size()) return false;
  uint32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char d = text_[at_++];
    const int digit = d >= '0' && d <= '9'   ? d - '0'
                      : d >= 'a' && d <= 'f' ? d - 'a' + 10
                      : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return false;
  AppendUtf8(text, value);
  return true;
}

bool YamlScanner::BlockScalar(std::string& text, int parent) {
  const bool literal = Peek() == '|';
  ++at_;
  int explicit_indent = 0;
  for (int i = 0; i < 2 && !BlankAt(0); ++i) {
    const char c = Peek();
    if (c >= '1' && c <= '9' && explicit_indent == 0)
      explicit_indent = c - '0';
    else if (c != '+' && c != '-')
      return Fail();
    ++at_;
  }
  if (!RestIsEmpty()) return Fail();
  if (explicit_indent > 0 && parent < 0) return Fail();
  int indent = explicit_indent > 0 ? parent + explicit_indent : 0;
  std::string body;
  size_t widest_blank = 0;
  while (!AtEnd()) {
    std::string_view line = Line();
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    if (spaces == line.size()) {
      widest_blank = std::max(widest_blank, spaces);
      body.append(indent > 0 && spaces > static_cast<size_t>(indent)
                      ? line.substr(static_cast<size_t>(indent))
                      : std::string_view());
      body.push_back('\n');
      NextLine();
      continue;
    }
    if (indent == 0) {
      if (static_cast<int>(spaces) <= parent || AtMarker()) break;
      indent = static_cast<int>(spaces);
      // A blank line indented further than the text: some parsers refuse it.
      if (static_cast<int>(widest_blank) > indent) return Fail();
      if (indent == 0) return Fail();
    }
    if (static_cast<int>(spaces) < indent) {
      if (static_cast<int>(spaces) > parent && line[spaces] != '#') return Fail();
      break;
    }
    body.append(line.substr(static_cast<size_t>(indent))).push_back('\n');
    NextLine();
  }
  text = literal ? Script(body) : body;
  return true;
}

}  // namespace cloche::rules
