#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "change/rules/triggers.h"

namespace cloche::rules {

struct KeyValue {
  std::string key;  // "jobs.build.steps[].run"; list items have no index, so order is ignored
  std::string value;
};
using KeyValues = std::vector<KeyValue>;

inline constexpr size_t kMaxDepth = 64;
inline constexpr size_t kMaxKeyValues = 200'000;
inline constexpr size_t kMaxKey = 1024;

// Replaces a dot within a name, so that {"a.b": 1} differs from {"a": {"b": 1}}.
inline constexpr char kDotOfName = '\x1e';
std::string NameInKey(std::string_view name);  // with such dots
std::string ShownKey(std::string_view key);    // with dots

// A key that a parser could not read with certainty; it counts as one of the class's keys.
inline constexpr std::string_view kDoubtful = "(doubtful)";

// nullopt: not of this format, or beyond the bounds. Duplicate keys appear twice. Tools disagree
// about some formats: each of the ReadingsOf() readings is what one kind of tool sees, and the
// states of a file are compared reading by reading. For readings after the first, nullopt means
// that such a tool refuses the text and obeys nothing in it.
std::optional<KeyValues> ReadKeyValues(Format format, std::string_view text, size_t reading = 0);
size_t ReadingsOf(Format format);

// Lenient: also accepts comments and trailing commas.
std::optional<KeyValues> ReadJson(std::string_view text, bool lenient = true);
std::optional<KeyValues> ReadYaml(std::string_view text);
std::optional<KeyValues> ReadGitConfig(std::string_view text);
struct IniReading {
  bool joins = true;             // a trailing backslash joins the next line
  bool sections = true;          // `[name]` starts a section; otherwise it is an ordinary line
  bool indent_continues = true;  // an indented line continues the previous value
};
std::optional<KeyValues> ReadIni(std::string_view text, IniReading reading = {});
std::optional<KeyValues> ReadToml(std::string_view text);
std::optional<KeyValues> ReadXml(std::string_view text);

// Keys of `{a: b, c: [d]}` or `{ a = "b" }` on one line, below `key`.
void ReadFlow(std::string_view key, std::string_view text, char separator, KeyValues& out);

std::string_view Unquoted(std::string_view text);

}  // namespace cloche::rules
