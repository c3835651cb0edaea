#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "change/rules/key_values.h"

namespace cloche::rules {
namespace {

// Removes what editors allow but JSON does not: comments, and a comma before a closing bracket.
// nullopt: nested too deeply.
std::optional<std::string> Strict(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t depth = 0;
  size_t comma = std::string::npos;  // position in `out`, while only blanks follow it
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const size_t begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      out.append(text.substr(begin, i - begin + 1));
      comma = std::string::npos;
      continue;
    }
    if (text.substr(i).starts_with("//")) {
      i = text.find('\n', i);
      if (i == text.npos) break;
      out.push_back('\n');
      continue;
    }
    if (text.substr(i).starts_with("/*")) {
      i = text.find("*/", i + 2);
      if (i == text.npos) break;
      ++i;
      out.push_back(' ');
      continue;
    }
    if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return std::nullopt;
    } else if (c == '}' || c == ']') {
      if (depth > 0) --depth;
      if (comma != std::string::npos && comma > 0) out[comma] = ' ';
    }
    if (c == ',')
      comma = out.size();
    else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
      comma = std::string::npos;
    out.push_back(c);
  }
  return out;
}

// Handles parser events, so that no tree is built. Reports a duplicate key twice or, like
// JSON.parse, only its last value.
class Flattener : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Flattener(bool last_wins) : last_wins_(last_wins) {}

  KeyValues Take() {
    if (dead_.empty()) return std::move(out_);
    KeyValues left;
    size_t at = 0;
    for (const KeyValue& each : out_) {
      const auto is_in = [&](const Range& range) { return range.first <= at && at < range.second; };
      if (std::ranges::none_of(dead_, is_in)) left.push_back(each);
      ++at;
    }
    return left;
  }

  bool null() override { return Emit("null"); }
  bool boolean(bool value) override { return Emit(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Emit(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Emit(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Emit(text); }
  bool string(string_t& value) override { return Emit(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(""); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open("[]"); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    path_.resize(level.path);
    if (!path_.empty()) path_.push_back('.');
    path_.append(NameInKey(name));
    if (last_wins_) {
      if (level.open != nullptr) level.open->second = out_.size();
      Range& range = level.keys[name];
      if (range.second > range.first) dead_.push_back(range);
      if (dead_.size() > kMaxTwice) return false;
      range = {out_.size(), out_.size()};
      level.open = &range;
    }
    return path_.size() <= kMaxKey;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  using Range = std::pair<size_t, size_t>;
  static constexpr size_t kMaxTwice = 1000;
  struct Level {
    size_t path = 0;   // its length when the bracket opened
    size_t first = 0;  // of its values
    std::map<std::string, Range> keys;
    Range* open = nullptr;
  };

  bool Open(std::string_view suffix) {
    if (levels_.size() > kMaxDepth) return false;
    path_.append(suffix);
    levels_.push_back({.path = path_.size(), .first = out_.size()});
    return path_.size() <= kMaxKey;
  }
  bool Close() {
    path_.resize(levels_.back().path);
    if (levels_.back().first == out_.size() && !Emit("")) return false;
    levels_.pop_back();
    if (levels_.empty()) return false;
    path_.resize(levels_.back().path);
    return true;
  }
  bool Emit(std::string value) {
    if (out_.size() >= kMaxKeyValues) return false;
    out_.push_back({path_, std::move(value)});
    return true;
  }

  bool last_wins_;
  std::string path_;
  std::vector<Level> levels_ = std::vector<Level>(1);
  std::vector<Range> dead_;
  KeyValues out_;
};

}  // namespace

std::optional<KeyValues> ReadJson(std::string_view text, bool lenient) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Flattener flattener(/*last_wins=*/!lenient);  // also limits the depth
  if (!lenient) {
    if (!nlohmann::json::sax_parse(text, &flattener)) return std::nullopt;
    return flattener.Take();
  }
  const std::optional<std::string> strict = Strict(text);
  if (!strict || !nlohmann::json::sax_parse(*strict, &flattener)) return std::nullopt;
  return flattener.Take();
}

}  // namespace cloche::rules
