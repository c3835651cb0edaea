#include "base/toml_reader.h"
#include "change/rules/certainty.h"
#include "change/rules/key_values.h"
#include "change/rules/line_sets.h"

namespace cloche::rules {
namespace {

// `a.a.a.a = 1` nests as deeply as it has dots, and the parser does not limit these.
bool DottedTooDeeply(std::string_view text) {
  size_t dots = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      quote = 0;
      dots = 0;
    } else if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '.') {
      if (++dots > kMaxDepth) return true;
    } else if (std::string_view(",=[]{}#").find(c) != std::string_view::npos) {
      dots = 0;
    }
  }
  return false;
}

// Outside strings and comments TOML is ASCII, and the parser's behaviour is undefined for other
// characters there. It gets "(c3)(a9)" instead, which only a string or a comment may contain.
std::string InAscii(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      out.push_back(c);
    else
      out.append({'(', kDigits[byte >> 4], kDigits[byte & 15], ')'});
  }
  return out;
}

class Flattener {
 public:
  KeyValues out;

  bool Table(const std::string& path, const toml::table& table) {
    // In a list of packages, each entry must start with its name.
    if (const toml::node* name = table.get("name"))
      if (!Node(Below(path, "name"), *name)) return false;
    for (const auto& [key, node] : table)
      if (key.str() != "name" && !Node(Below(path, key.str()), node)) return false;
    return !table.empty() || Add(path, "");
  }

 private:
  static std::string Below(const std::string& path, std::string_view name) {
    std::string key = path;
    if (!key.empty()) key.push_back('.');
    return key.append(NameInKey(name));
  }

  bool Add(const std::string& key, std::string value) {
    if (out.size() >= kMaxKeyValues || key.size() > kMaxKey) return false;
    out.push_back({key, std::move(value)});
    return true;
  }

  bool Node(const std::string& path, const toml::node& node) {
    if (path.size() > kMaxKey || ++depth_ > 4 * kMaxDepth) return false;
    const bool fine = Inner(path, node);
    --depth_;
    return fine;
  }

  bool Inner(const std::string& path, const toml::node& node) {
    if (const toml::table* table = node.as_table()) return Table(path, *table);
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& item : *array) {
        const toml::table* table = item.as_table();
        const bool header = table != nullptr && !table->is_inline();  // [[name]]
        if (!Node(header ? path : path + "[]", item)) return false;
      }
      return !array->empty() || Add(path, "");
    }
    if (const auto* text = node.as_string()) return Add(path, text->get());
    if (const auto* number = node.as_integer()) return Add(path, std::to_string(number->get()));
    if (const auto* number = node.as_floating_point())
      return Add(path, std::to_string(number->get()));
    if (const auto* flag = node.as_boolean()) return Add(path, flag->get() ? "true" : "false");
    return Add(path, "(a time)");
  }

  size_t depth_ = 0;
};

}  // namespace

std::optional<KeyValues> ReadToml(std::string_view text) {
  if (text.size() > kMaxJudged || !DoubtAbout(text).empty() || DottedTooDeeply(text))
    return std::nullopt;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const toml::parse_result parsed = toml::parse(InAscii(text));
  if (!parsed) return std::nullopt;
  Flattener flattener;
  if (!parsed.table().empty() && !flattener.Table("", parsed.table())) return std::nullopt;
  return std::move(flattener.out);
}

}  // namespace cloche::rules
