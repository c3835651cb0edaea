#include <algorithm>
#include <utility>

#include "change/rules/key_values.h"
#include "change/rules/line_sets.h"

namespace cloche::rules {
namespace {

bool IsComment(std::string_view line) { return line.starts_with('#') || line.starts_with(';'); }

// The common ground of pip, npm, systemd, the JVM, tox and dotenv. If a name can be read in two
// ways, both are reported.
class Reader {
 public:
  // `inherits`: some values apply to all sections, so even an empty section means something.
  Reader(IniReading reading, bool inherits) : reading_(reading), inherits_(inherits) {}

  bool Take(std::string_view raw) {
    const std::string_view trimmed = TrimLine(raw);
    // No tool continues a comment, and systemd skips comments within a continued line.
    if (IsComment(trimmed)) return true;
    if (!carried_.empty()) {
      carried_.append(trimmed);
    } else {
      indent_ = std::min(raw.find_first_not_of(" \t"), raw.size());
      carried_ = raw;
    }
    if (carried_.size() > kMaxSureJoined) return false;
    if (reading_.joins && carried_.ends_with('\\')) {
      carried_.pop_back();
      if (carried_.empty()) carried_ = " ";
      return true;
    }
    const std::string line = std::exchange(carried_, {});
    return Whole(TrimLine(line));
  }

  // A continued line that never ended.
  bool Finish() { return carried_.empty() || Add(std::string(kDoubtful), carried_); }

  KeyValues out;

 private:
  static constexpr size_t kMaxSureJoined = 1 << 20;

  bool Add(std::string key, std::string_view value) {
    if (out.size() >= kMaxKeyValues || key.size() > kMaxKey) return false;
    out.push_back({std::move(key), std::string(value)});
    return true;
  }

  bool Whole(std::string_view line) {
    if (line.empty()) return true;
    if (reading_.indent_continues && !last_.empty() && indent_ > last_indent_)
      return Add(last_, line);
    last_indent_ = indent_;
    if (reading_.sections && line.starts_with('[')) return Section(line);
    for (const std::string_view word : {"export ", "export\t"})
      if (line.starts_with(word)) line = TrimLine(line.substr(7));
    return Entry(line);
  }

  bool Section(std::string_view line) {
    const size_t end = line.find(']');
    if (end == line.npos) return false;
    const std::string_view rest = TrimLine(line.substr(end + 1));
    section_.clear();
    for (const char c : TrimLine(line.substr(1, end - 1)))
      if (c != '"' && c != '\'') section_.push_back(c == ' ' || c == '\t' ? '.' : c);
    last_.clear();
    // configparser applies the values of this section to all others.
    everywhere_ = Lowered(section_) == "default";
    if (inherits_ && !Add(std::string(kDoubtful), line)) return false;
    if (rest.empty() || IsComment(rest)) return section_.size() <= kMaxKey;
    // Tools disagree about what may follow.
    return Add(std::string(kDoubtful), line);
  }

  std::string Key(std::string_view name) const {
    std::string key = everywhere_ ? std::string(kDoubtful) : section_;
    if (!key.empty()) key.push_back('.');
    // Escapes in a name spell another name.
    if (name.find('\\') != name.npos) return key.append(kDoubtful);
    for (const char c : name)
      if (c != '"' && c != '\'') key.push_back(c);
    return key;
  }

  bool Entry(std::string_view line) {
    const size_t colon = line.find(':');
    const size_t equals = std::min(line.find('='), line.size());
    const size_t blank = line.find_first_of(" \t");
    const size_t sign = std::min(colon, equals);
    // `name value`: properties, yarn.
    if (blank < sign && TrimLine(line.substr(blank)).find_first_of("=:") != 0 &&
        !Add(Key(line.substr(0, blank)), Unquoted(line.substr(blank))))
      return false;
    if (equals == line.size() && (colon == line.npos || colon == 0)) {
      last_ = Key(line.substr(0, std::min(blank, line.size())));
      return Add(Key(line), line);
    }
    last_ = Key(TrimLine(line.substr(0, sign)));
    // `name: a=b` and `@scope:name=b`: only the tool knows which it is.
    if (colon < equals && !Pair(line.substr(0, colon), line.substr(colon + 1))) return false;
    return equals == line.size() || Pair(line.substr(0, equals), line.substr(equals + 1));
  }

  bool Pair(std::string_view name, std::string_view value) {
    name = TrimLine(name);
    // `Exec[$e]`, `omit[]`
    const size_t bracket = name.ends_with(']') ? name.find('[') : name.npos;
    if (bracket != name.npos && bracket > 0 && !Add(Key(name.substr(0, bracket)), Unquoted(value)))
      return false;
    // Some tools strip quotes from a name, others keep them.
    if (name.find_first_of("\"'") != name.npos &&
        !Add(section_ + "." + std::string(name), Unquoted(value)))
      return false;
    return Add(Key(name), Unquoted(value));
  }

  IniReading reading_;
  bool inherits_;
  std::string section_;
  std::string last_;     // the key that an indented line continues
  std::string carried_;  // a continued line
  size_t indent_ = 0;
  size_t last_indent_ = 0;
  bool everywhere_ = false;
};

}  // namespace

std::optional<KeyValues> ReadIni(std::string_view text, IniReading reading) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Reader reader(reading, Lowered(text).find("[default]") != std::string::npos);
  for (const std::string_view line : Lines(text))
    if (!reader.Take(line)) return std::nullopt;
  if (!reader.Finish()) return std::nullopt;
  return std::move(reader.out);
}

}  // namespace cloche::rules
