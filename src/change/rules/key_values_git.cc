#include <utility>

#include "change/rules/key_values.h"

#include "base/ascii.h"

namespace cloche::rules {
namespace {

bool IsKeyCharacter(char c) { return IsLetter(c) || (c >= '0' && c <= '9') || c == '-'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// Reads character by character, like git (config.c), and refuses everything git refuses.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  std::optional<KeyValues> Read() {
    while (true) {
      const char c = Next();
      if (c == '\n') {
        if (eof_) return std::move(out_);
      } else if (c == '#' || c == ';') {
        while (Next() != '\n') {
        }
        if (eof_) return std::move(out_);
      } else if (c == '[') {
        section_.clear();
        if (!Section() || section_.empty() || section_.size() > kMaxKey) return std::nullopt;
        section_.push_back('.');
      } else if (!IsSpace(c)) {
        if (!IsLetter(c) || !Entry(c)) return std::nullopt;
      }
    }
  }

 private:
  // The end of the text ends a line.
  char Next() {
    if (at_ >= text_.size()) {
      eof_ = true;
      return '\n';
    }
    if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    return text_[at_++];
  }

  bool Section() {
    while (true) {
      const char c = Next();
      if (eof_) return false;
      if (c == ']') return true;
      if (IsSpace(c)) return Subsection(c);
      if (!IsKeyCharacter(c) && c != '.') return false;
      section_.push_back(Lower(c));
    }
  }

  bool Subsection(char c) {
    do {
      if (c == '\n') return false;
      c = Next();
    } while (IsSpace(c));
    if (c != '"') return false;
    section_.push_back('.');
    for (c = Next(); c != '"'; c = Next()) {
      if (c == '\\') c = Next();
      if (c == '\n') return false;
      section_.push_back(c);
    }
    return Next() == ']';
  }

  bool Entry(char first) {
    std::string key = section_;
    key.push_back(Lower(first));
    char c = Next();
    for (; !eof_ && IsKeyCharacter(c); c = Next()) key.push_back(Lower(c));
    while (c == ' ' || c == '\t') c = Next();
    std::string value = "true";  // a name without a value
    if (c != '\n') {
      value.clear();
      if (c != '=' || !Value(value)) return false;
    }
    if (key.size() > kMaxKey || out_.size() >= kMaxKeyValues) return false;
    out_.push_back({std::move(key), std::move(value)});
    // The end of the text counted as this line's end; it will be found again.
    return true;
  }

  bool Value(std::string& value) {
    bool quoted = false;
    bool comment = false;
    size_t spaces = 0;
    while (true) {
      char c = Next();
      if (c == '\n') return !quoted;
      if (comment) continue;
      if (IsSpace(c) && !quoted) {
        if (!value.empty()) ++spaces;
        continue;
      }
      if (!quoted && (c == ';' || c == '#')) {
        comment = true;
        continue;
      }
      value.append(std::exchange(spaces, 0), ' ');
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      if (c == '\\') {
        c = Next();
        if (c == '\n') {
          // Nothing follows the end of the text.
          if (eof_) return !quoted;
          continue;
        }
        if (c == 't')
          c = '\t';
        else if (c == 'b')
          c = '\b';
        else if (c == 'n')
          c = '\n';
        else if (c != '\\' && c != '"')
          return false;
      }
      value.push_back(c);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  bool eof_ = false;
  std::string section_;
  KeyValues out_;
};

}  // namespace

std::optional<KeyValues> ReadGitConfig(std::string_view text) { return Reader(text).Read(); }

}  // namespace cloche::rules
