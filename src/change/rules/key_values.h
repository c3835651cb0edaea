#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "change/rules/triggers.h"

namespace cloche::rules {

struct KeyValue {
  std::string key;  // "jobs.build.steps[].run"; items of lists have no number, so order is nothing
  std::string value;
};
using KeyValues = std::vector<KeyValue>;

inline constexpr size_t kMaxDepth = 64;
inline constexpr size_t kMaxKeyValues = 200'000;
inline constexpr size_t kMaxKey = 1024;

// Stands for a dot within a name, so that {"a.b": 1} is not {"a": {"b": 1}}.
inline constexpr char kDotOfName = '\x1e';
std::string NameInKey(std::string_view name);  // with such dots
std::string ShownKey(std::string_view key);    // with dots

// A key that a parser could not read for sure; it counts as one of the class's keys.
inline constexpr std::string_view kDoubtful = "(doubtful)";

// Absent: not of this format, or beyond the bounds. A key that is there twice is given twice.
// Tools do not agree about some formats: each of ReadingsOf() says what one kind of tool sees, and
// the states of a file are compared reading by reading.
// Absent from the second reading on: such a tool refuses the text, and obeys nothing in it.
std::optional<KeyValues> ReadKeyValues(Format format, std::string_view text, size_t reading = 0);
size_t ReadingsOf(Format format);

// Lenient: comments and trailing commas, too.
std::optional<KeyValues> ReadJson(std::string_view text, bool lenient = true);
std::optional<KeyValues> ReadYaml(std::string_view text);
std::optional<KeyValues> ReadGitConfig(std::string_view text);
struct IniReading {
  bool joins = true;             // a backslash at the end of a line takes the next one in
  bool sections = true;          // `[name]` begins a section; else it is a line like others
  bool indent_continues = true;  // a line further in belongs to the value before it
};
std::optional<KeyValues> ReadIni(std::string_view text, IniReading reading = {});
std::optional<KeyValues> ReadToml(std::string_view text);
std::optional<KeyValues> ReadXml(std::string_view text);

// Keys of `{a: b, c: [d]}` or `{ a = "b" }` on one line, below `key`.
void ReadFlow(std::string_view key, std::string_view text, char separator, KeyValues& out);

std::string_view Unquoted(std::string_view text);

}  // namespace cloche::rules
