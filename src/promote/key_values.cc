#include "promote/key_values.h"

#include <algorithm>
#include <utility>

#include "promote/line_sets.h"

namespace cloche::promote {
namespace {

// `[section "sub"]` -> "section.sub", `[[a.b]]` -> "a.b". Absent: the bracket never closes.
std::optional<std::string> SectionName(std::string_view line) {
  const size_t end = line.rfind(']');
  if (end == line.npos) return std::nullopt;
  std::string name;
  bool quoted = false;
  for (const char c : line.substr(0, end)) {
    if (c == '"') {
      quoted = !quoted;
      continue;
    }
    if (!quoted && (c == '[' || c == ']')) continue;
    if (!quoted && (c == ' ' || c == '\t')) {
      if (!name.empty() && !name.ends_with('.')) name.push_back('.');
      continue;
    }
    name.push_back(c);
  }
  while (name.ends_with('.')) name.pop_back();
  return name;
}

std::string Joined(std::string_view section, std::string_view name) {
  std::string key(section);
  if (!key.empty()) key.push_back('.');
  for (const char c : name)
    if (c != '"' && c != '\'') key.push_back(c);
  return key;
}

// +1 for each bracket that opens outside of quotes, -1 for each that closes.
int OpenBrackets(std::string_view text) {
  int open = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      break;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if (c == ']' || c == '}') {
      --open;
    }
  }
  return open;
}

bool Add(KeyValues& out, std::string key, std::string_view value) {
  if (out.size() >= kMaxKeyValues || key.size() > kMaxKey) return false;
  out.push_back({std::move(key), std::string(value)});
  return true;
}

// What follows the first word is its value: .tool-versions.
std::optional<KeyValues> ReadWords(std::string_view text) {
  KeyValues out;
  for (const std::string_view raw : Lines(text)) {
    const std::string_view line = Trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const size_t end = line.find_first_of(" \t");
    const std::string_view rest = end == line.npos ? line : Trim(line.substr(end));
    if (!Add(out, std::string(line.substr(0, std::min(end, kMaxKey))), rest)) return std::nullopt;
  }
  return out;
}

}  // namespace

std::string_view Unquoted(std::string_view text) {
  text = Trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

void ReadFlow(std::string_view key, std::string_view text, char separator, KeyValues& out) {
  std::vector<std::string> path = {std::string(key)};
  std::string word;
  std::string name;
  char quote = 0;
  const auto flush = [&] {
    const std::string_view value = Trim(word);
    std::string full = path.back();
    if (!name.empty()) full = Joined(full, Trim(name));
    if (!value.empty() || !name.empty()) Add(out, std::move(full), Unquoted(value));
    word.clear();
    name.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"' && i + 1 < text.size()) word.push_back(text[i++]);
      if (c == quote) quote = 0;
      word.push_back(text[i]);
    } else if (c == '"' || c == '\'') {
      quote = c;
      word.push_back(c);
    } else if (c == '{' || c == '[') {
      if (path.size() >= kMaxDepth) {
        Add(out, std::string(key) + "." + std::string(kDoubtful), text);
        return;
      }
      std::string inner = path.back();
      if (!name.empty()) inner = Joined(inner, Trim(name));
      if (c == '[') inner += "[]";
      if (inner.size() > kMaxKey) inner = std::string(kDoubtful);
      path.push_back(std::move(inner));
      word.clear();
      name.clear();
    } else if (c == '}' || c == ']') {
      flush();
      if (path.size() > 1) path.pop_back();
    } else if (c == ',') {
      flush();
    } else if (name.empty() && c == separator &&
               (c == '=' || i + 1 == text.size() || text[i + 1] == ' ' || word.ends_with('"') ||
                word.ends_with('\''))) {
      name = std::exchange(word, {});
      if (name.find('\\') != name.npos) name = kDoubtful;
    } else {
      word.push_back(c);
    }
  }
  flush();
}

std::optional<KeyValues> ReadIni(std::string_view text) {
  KeyValues out;
  std::string section;
  std::string last;  // the key that an indented line continues
  std::string carried;
  for (const std::string_view raw : Lines(text)) {
    std::string joined = std::move(carried);
    carried.clear();
    const bool indented = joined.empty() && (raw.starts_with(' ') || raw.starts_with('\t'));
    joined.append(joined.empty() ? raw : Trim(raw));
    if (joined.ends_with('\\')) {
      joined.pop_back();
      carried = std::move(joined);
      if (carried.size() > kMaxJudged) return std::nullopt;
      continue;
    }
    std::string_view line = Trim(joined);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      const std::optional<std::string> name = SectionName(line.substr(0, line.find(']') + 1));
      if (!name || name->size() > kMaxKey) return std::nullopt;
      section = *name;
      last.clear();
      // git reads what follows the bracket on the same line.
      line = Trim(line.substr(line.find(']') + 1));
      if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    }
    if (line.starts_with("export ")) line = Trim(line.substr(7));
    const size_t colon = line.find(':');
    const size_t equals = std::min(line.find('='), line.size());
    if (equals == line.size() && (colon == line.npos || colon == 0)) {
      // git: a name alone is true. Others: a further line of the value before it.
      std::string key = indented && !last.empty() ? last : Joined(section, line);
      if (!Add(out, std::move(key), line)) return std::nullopt;
      continue;
    }
    // `name: a=b` and `@scope:name=b`: which of the two it is, only the reader knows.
    if (colon < equals) {
      std::string key = Joined(section, Trim(line.substr(0, colon)));
      if (equals == line.size() && !indented) last = key;
      if (!Add(out, std::move(key), Unquoted(line.substr(colon + 1)))) return std::nullopt;
      if (equals == line.size() && !(indented && !last.empty())) continue;
    }
    std::string key = Joined(section, Trim(line.substr(0, equals)));
    // An indented line may be either; as a value of the key before it, it must not be missed.
    if (indented && !last.empty() && !Add(out, last, line)) return std::nullopt;
    if (!indented) last = key;
    if (equals < line.size() && !Add(out, std::move(key), Unquoted(line.substr(equals + 1))))
      return std::nullopt;
  }
  if (!carried.empty() && !Add(out, Joined(section, kDoubtful), carried)) return std::nullopt;
  return out;
}

std::optional<KeyValues> ReadToml(std::string_view text) {
  KeyValues out;
  std::string section;
  std::string joined;
  std::string_view until;  // of a string over several lines
  std::string key;
  int open = 0;
  for (const std::string_view raw : Lines(text)) {
    const std::string_view line = Trim(raw);
    if (!until.empty()) {
      if (!Add(out, key, line)) return std::nullopt;
      if (line.find(until) != line.npos) until = {};
      continue;
    }
    if (open > 0) {
      joined.append(" ").append(line.substr(0, line.starts_with('#') ? 0 : line.npos));
      open += OpenBrackets(line);
      if (open <= 0) ReadFlow(key, joined, '=', out);
      continue;
    }
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('[')) {
      const std::optional<std::string> name = SectionName(line.substr(0, line.find(" #")));
      if (!name || name->size() > kMaxKey) return std::nullopt;
      section = *name;
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == line.npos) return std::nullopt;
    key = Joined(section, Trim(line.substr(0, equals)));
    std::erase(key, ' ');
    if (key.find('\\') != key.npos) key = kDoubtful;
    const std::string_view value = Trim(line.substr(equals + 1));
    for (const std::string_view mark : {"\"\"\"", "'''"})
      if (value.starts_with(mark) && value.find(mark, 3) == value.npos) until = mark;
    if (value.starts_with('{') || value.starts_with('[')) {
      joined = value;
      open = OpenBrackets(value);
      if (open <= 0) ReadFlow(key, joined, '=', out);
    } else if (!Add(out, key, Unquoted(value))) {
      return std::nullopt;
    }
  }
  if (open > 0) return std::nullopt;
  return out;
}

std::optional<KeyValues> ReadXml(std::string_view text) {
  KeyValues out;
  std::vector<std::string> stack = {""};
  while (!text.empty()) {
    const size_t tag = text.find('<');
    const std::string_view before = Trim(text.substr(0, tag));
    const size_t content = before.find_first_not_of(" \t\r\n");
    if (content != before.npos && !Add(out, stack.back(), before.substr(content)))
      return std::nullopt;
    if (tag == text.npos) break;
    text.remove_prefix(tag);
    const bool comment = text.starts_with("<!--");
    const bool data = text.starts_with("<![CDATA[");
    const std::string_view closing = comment ? "-->" : data ? "]]>" : ">";
    const size_t end = text.find(closing, 1);
    if (end == text.npos) return std::nullopt;
    const std::string_view inside = text.substr(1, end - 1);
    text.remove_prefix(end + closing.size());
    if (comment || inside.starts_with('?')) continue;
    if (data || inside.starts_with('!')) {
      if (!Add(out, data ? stack.back() : std::string(kDoubtful), inside)) return std::nullopt;
      continue;
    }
    if (inside.starts_with('/')) {
      if (stack.size() > 1) stack.pop_back();
      continue;
    }
    const size_t name_end = std::min(inside.find_first_of(" \t\r\n/"), inside.size());
    std::string key = Joined(stack.back(), inside.substr(0, name_end));
    const std::string_view attributes = Trim(inside.substr(name_end));
    if (!attributes.empty() && attributes != "/" && !Add(out, key + "@", attributes))
      return std::nullopt;
    if (inside.ends_with('/')) continue;
    if (stack.size() > kMaxDepth || key.size() > kMaxKey) return std::nullopt;
    stack.push_back(std::move(key));
  }
  return out;
}

std::optional<KeyValues> ReadKeyValues(Format format, std::string_view text) {
  if (text.size() > kMaxJudged) return std::nullopt;
  switch (format) {
    case Format::kJson:
      return ReadJson(text);
    case Format::kYaml:
      return ReadYaml(text);
    case Format::kIni:
      return ReadIni(text);
    case Format::kToml:
      return ReadToml(text);
    case Format::kXml:
      return ReadXml(text);
    case Format::kWords:
      return ReadWords(text);
    case Format::kNone:
      break;
  }
  return std::nullopt;
}

}  // namespace cloche::promote
