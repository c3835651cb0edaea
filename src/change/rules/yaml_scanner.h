#pragma once

#include <string>
#include <string_view>

namespace cloche::rules {

// A position in YAML text, and the scalars there. Fails for good once it finds something that
// parsers disagree about.
class YamlScanner {
 protected:
  explicit YamlScanner(std::string_view text) : text_(text) {}

  static constexpr int kNoIndent = -1;
  static bool IsFlowMark(char c) {
    return std::string_view(",[]{}").find(c) != std::string_view::npos;
  }

  bool Fail() {
    failed_ = true;
    return false;
  }
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n';
  }
  bool BlankAt(size_t ahead) const {
    const char c = Peek(ahead);
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
  }
  int Column() const { return static_cast<int>(at_ - line_); }
  void NextLine() {
    const size_t end = text_.find('\n', at_);
    at_ = end == text_.npos ? text_.size() : end + 1;
    line_ = at_;
  }
  bool AtLineEnd() const { return AtEnd() || Peek() == '\n' || Peek() == '\r'; }
  // `---` or `...` in the first column.
  bool AtMarker() const {
    if (Column() != 0 || AtEnd()) return false;
    const std::string_view three = text_.substr(at_, 3);
    return (three == "---" || three == "...") && BlankAt(3);
  }

  std::string_view Line() const { return text_.substr(line_, text_.find('\n', line_) - line_); }

  // Advances to the end of the line if only blanks and a comment are left; otherwise stays at the
  // rest.
  bool RestIsEmpty();
  // Skips to the next token; false at the end. In a block, a line must not start with a tab.
  bool Skip(bool flow);

  // Whether `key:` is here: on this line, followed by a blank or the line end.
  bool KeyFollows();
  // Reads a key and its colon. If there is none, that is not a failure.
  bool Key(std::string& key);

  // A plain or quoted scalar whose lines are indented beyond column `parent`.
  bool Scalar(std::string& text, int parent, bool flow);
  // `|` and `>`, with their lines as they are. In a literal block, comments of a script are left
  // out.
  bool BlockScalar(std::string& text, int parent);

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 0;  // where the line starts
  bool failed_ = false;

 private:
  bool Plain(std::string& text, int parent, bool flow);
  bool ContinuesPlain(int parent, bool flow);
  bool Quoted(std::string& text, int parent);
  bool Fold(std::string& text, int parent);
  bool Escape(std::string& text);
};

}  // namespace cloche::rules
