#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "promote/line_sets.h"

namespace cloche::promote {

// A file taken apart: a new command is an alarm, other new data is shown.
struct Parts {
  std::vector<Part> commands;
  std::vector<Part> data;
};

Parts ScriptParts(std::string_view text, bool slashes);
Parts LiteralCodeParts(std::string_view text, bool slashes);
Parts ToolCodeParts(std::string_view text, bool slashes);
Parts MakeParts(std::string_view text, bool any_indent);  // any_indent: just, not make
Parts CMakeParts(std::string_view text);
Parts DockerParts(std::string_view text);
Parts GitAttributeParts(std::string_view text);
Parts PathFileParts(std::string_view text);

struct LockChange {
  std::vector<std::string> alarms;
  std::vector<std::string> notices;
};
LockChange CompareLocks(std::string_view name, std::optional<std::string_view> before,
                        std::string_view after);

// Where a URL leads, without the version: "https://host", or with the path for a repository.
// "" = no URL.
std::string SourceOf(std::string_view url);

// `owner/action@v4`, `image:1.2`: without what names a version.
std::string WithoutVersion(std::string_view value);

// New lines with bidirectional or invisible characters. In `prose` those that writing systems and
// emoji need are no reason.
std::vector<std::string> UnseenLines(std::optional<std::string_view> before, std::string_view after,
                                     bool prose);
bool NameDeceives(std::string_view path);   // control, bidirectional, invisible characters
bool NameDisguises(std::string_view path);  // a component that a file system takes for .git

}  // namespace cloche::promote
