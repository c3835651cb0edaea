#include "change/rules/key_values.h"

#include <algorithm>
#include <utility>

#include "change/rules/line_sets.h"

namespace cloche::rules {
namespace {

std::string Joined(std::string_view section, std::string_view name) {
  std::string key(section);
  if (!key.empty()) key.push_back('.');
  for (const char c : name)
    if (c != '"' && c != '\'') key.push_back(c);
  return key;
}

bool Add(KeyValues& out, std::string key, std::string_view value) {
  if (out.size() >= kMaxKeyValues || key.size() > kMaxKey) return false;
  out.push_back({std::move(key), std::string(value)});
  return true;
}

// The rest of the line after the first word is its value: .tool-versions.
std::optional<KeyValues> ReadWords(std::string_view text) {
  KeyValues out;
  for (const std::string_view raw : Lines(text)) {
    const std::string_view line = TrimLine(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const size_t end = line.find_first_of(" \t");
    const std::string_view rest = end == line.npos ? line : TrimLine(line.substr(end));
    if (!Add(out, std::string(line.substr(0, std::min(end, kMaxKey))), rest)) return std::nullopt;
  }
  return out;
}

}  // namespace

std::string NameInKey(std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, '.', kDotOfName);
  return key;
}

std::string ShownKey(std::string_view key) {
  std::string shown(key);
  std::ranges::replace(shown, kDotOfName, '.');
  return shown;
}

std::string_view Unquoted(std::string_view text) {
  text = TrimLine(text);
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
    const std::string_view value = TrimLine(word);
    std::string full = path.back();
    if (!name.empty()) full = Joined(full, TrimLine(name));
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
      if (!name.empty()) inner = Joined(inner, TrimLine(name));
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

std::optional<KeyValues> ReadKeyValues(Format format, std::string_view text, size_t reading) {
  if (text.size() > kMaxJudged) return std::nullopt;
  switch (format) {
    case Format::kJson:
      return ReadJson(text, /*lenient=*/reading == 0);
    case Format::kYaml:
      return ReadYaml(text);
    case Format::kGitConfig:
      return ReadGitConfig(text);
    case Format::kIni:
      return ReadIni(text, {.joins = (reading & 1) == 0,
                            .sections = (reading & 2) == 0,
                            .indent_continues = (reading & 4) == 0});
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

size_t ReadingsOf(Format format) {
  return format == Format::kIni ? 8 : format == Format::kJson ? 2 : 1;
}

}  // namespace cloche::rules
