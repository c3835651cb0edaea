#include <nlohmann/json.hpp>
#include <string>

#include "promote/key_values.h"

namespace cloche::promote {
namespace {

// What editors allow and JSON does not: comments, and a comma before a closing bracket. Absent:
// nested too deeply.
std::optional<std::string> Strict(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t depth = 0;
  size_t comma = std::string::npos;  // of `out`, when only blanks came after it
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
      if (comma != std::string::npos) out[comma] = ' ';
    }
    if (c == ',')
      comma = out.size();
    else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
      comma = std::string::npos;
    out.push_back(c);
  }
  return out;
}

// Follows the events of the parser, so that no tree is built and a key that is there twice is seen
// twice.
class Flattener : public nlohmann::json_sax<nlohmann::json> {
 public:
  KeyValues Take() { return std::move(out_); }

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
    path_.resize(starts_.back());
    if (!path_.empty()) path_.push_back('.');
    path_.append(name);
    return path_.size() <= kMaxKey;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool Open(std::string_view suffix) {
    if (starts_.size() > kMaxDepth) return false;
    path_.append(suffix);
    starts_.push_back(path_.size());
    return path_.size() <= kMaxKey;
  }
  bool Close() {
    starts_.pop_back();
    if (starts_.empty()) return false;
    path_.resize(starts_.back());
    return true;
  }
  bool Emit(std::string value) {
    if (out_.size() >= kMaxKeyValues) return false;
    out_.push_back({path_, std::move(value)});
    return true;
  }

  std::string path_;
  std::vector<size_t> starts_ = {0};  // length of the path at each open bracket
  KeyValues out_;
};

}  // namespace

std::optional<KeyValues> ReadJson(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::optional<std::string> strict = Strict(text);
  if (!strict) return std::nullopt;
  Flattener flattener;
  if (!nlohmann::json::sax_parse(*strict, &flattener)) return std::nullopt;
  return flattener.Take();
}

}  // namespace cloche::promote
