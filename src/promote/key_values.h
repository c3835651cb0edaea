#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "promote/triggers.h"

namespace cloche::promote {

struct KeyValue {
  std::string key;  // "jobs.build.steps[].run"; items of lists have no number, so order is nothing
  std::string value;
};
using KeyValues = std::vector<KeyValue>;

inline constexpr size_t kMaxDepth = 64;
inline constexpr size_t kMaxKeyValues = 200'000;
inline constexpr size_t kMaxKey = 1024;

// A key that a parser could not read for sure; it counts as one of the class's keys.
inline constexpr std::string_view kDoubtful = "(doubtful)";

// Absent: not of this format, or beyond the bounds. A key that is there twice is given twice.
std::optional<KeyValues> ReadKeyValues(Format format, std::string_view text);

std::optional<KeyValues> ReadJson(std::string_view text);  // comments and trailing commas, too
std::optional<KeyValues> ReadYaml(std::string_view text);
std::optional<KeyValues> ReadIni(std::string_view text);
std::optional<KeyValues> ReadToml(std::string_view text);
std::optional<KeyValues> ReadXml(std::string_view text);

// Keys of `{a: b, c: [d]}` or `{ a = "b" }` on one line, below `key`.
void ReadFlow(std::string_view key, std::string_view text, char separator, KeyValues& out);

std::string_view Unquoted(std::string_view text);

}  // namespace cloche::promote
