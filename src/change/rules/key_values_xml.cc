#include <algorithm>

#include "base/ascii.h"
#include "change/rules/key_values.h"
#include "change/rules/line_sets.h"

namespace cloche::rules {
namespace {

// Where a tag ends; a '>' within a quoted attribute does not end it.
size_t EndOfTag(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text[i] == '>') {
      return i;
    } else if (text[i] == '<' && i > 0) {
      return text.npos;
    }
  }
  return text.npos;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<KeyValues> Read() {
    while (!text_.empty()) {
      const size_t tag = text_.find('<');
      const std::string_view content = Trim(text_.substr(0, tag));
      if (!content.empty() && !Add(stack_.back().path, content)) return std::nullopt;
      if (tag == text_.npos) break;
      text_.remove_prefix(tag);
      if (!Markup()) return std::nullopt;
    }
    if (stack_.size() > 1) return std::nullopt;
    return std::move(out_);
  }

 private:
  struct Element {
    std::string path;
    std::string_view name;
  };

  bool Add(std::string key, std::string_view value) {
    if (out_.size() >= kMaxKeyValues || key.size() > kMaxKey) return false;
    out_.push_back({std::move(key), std::string(value)});
    return true;
  }

  // Advances past `closing`; `inside` gets the text before it.
  bool Until(size_t from, std::string_view closing, std::string_view& inside) {
    const size_t end = text_.find(closing, from);
    if (end == text_.npos) return false;
    inside = text_.substr(from, end - from);
    text_.remove_prefix(end + closing.size());
    return true;
  }

  bool Markup() {
    std::string_view inside;
    if (text_.starts_with("<!--")) return Until(4, "-->", inside);
    if (text_.starts_with("<?")) return Until(2, "?>", inside);
    if (text_.starts_with("<![CDATA["))
      return Until(9, "]]>", inside) && Add(stack_.back().path, inside);
    if (text_.starts_with("<!")) {
      // Entities: they decide what the text says.
      const size_t end = std::min(text_.find('>'), text_.size());
      if (!Add(std::string(kDoubtful), text_.substr(0, end))) return false;
      text_.remove_prefix(std::min(end + 1, text_.size()));
      return true;
    }
    const size_t end = EndOfTag(text_);
    if (end == text_.npos) return false;
    inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    if (inside.starts_with('/')) {
      if (stack_.size() == 1 || stack_.back().name != Trim(inside.substr(1))) return false;
      stack_.pop_back();
      return true;
    }
    return Open(inside);
  }

  bool Open(std::string_view inside) {
    const bool empty = inside.ends_with('/');
    if (empty) inside.remove_suffix(1);
    const size_t name_end = std::min(inside.find_first_of(" \t\r\n"), inside.size());
    const std::string_view name = inside.substr(0, name_end);
    if (name.empty()) return false;
    std::string path = stack_.back().path;
    if (!path.empty()) path.push_back('.');
    path.append(name);
    const std::string_view attributes = Trim(inside.substr(name_end));
    if (!attributes.empty() && !Add(path + "@", attributes)) return false;
    if (empty) return Add(std::move(path), "");
    if (stack_.size() > kMaxDepth || path.size() > kMaxKey) return false;
    stack_.push_back({std::move(path), name});
    return true;
  }

  std::string_view text_;
  std::vector<Element> stack_ = {{"", ""}};
  KeyValues out_;
};

}  // namespace

std::optional<KeyValues> ReadXml(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return Reader(text).Read();
}

}  // namespace cloche::rules
