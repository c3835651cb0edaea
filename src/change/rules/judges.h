#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "change/rules/code_lines.h"
#include "change/rules/line_sets.h"
#include "change/rules/triggers.h"

namespace cloche::rules {

// A file taken apart: a new command is an alarm, other new data is shown.
struct Parts {
  std::vector<Part> commands;
  std::vector<Part> data;
};

Parts ScriptParts(std::string_view text, Comments comments);
Parts LiteralCodeParts(std::string_view text, Comments comments);
Parts ToolCodeParts(std::string_view text, Comments comments);
// `commands`: variables that recipes elsewhere start, as words.
Parts MakeParts(std::string_view text, std::string_view commands = {});
Parts DependencyParts(std::string_view text);
Parts JustParts(std::string_view text);
Parts CMakeParts(std::string_view text);
bool CMakeRefuses(std::string_view text);  // a string, bracket or parenthesis never ends
Parts DockerParts(std::string_view text);
Parts GitAttributeParts(std::string_view text);
Parts PathFileParts(std::string_view text);
Parts AgentTextParts(std::string_view text);

// What a judge found: reasons for an alarm, and the rest of the change.
struct Judgement {
  std::vector<std::string> alarms;
  std::vector<std::string> notices;
};

// Compares the states of a file by what it says, where its class's judge looks at content. `before`
// is absent for a new file. What cannot be read for sure is an alarm.
Judgement JudgeContent(const TriggerClass& rule, std::string_view name,
                       std::optional<std::string_view> before, std::string_view after,
                       std::string_view make_commands = {});
// Keys that protect from something: deleting their file removes the protection.
std::vector<std::string> GuardsOf(const TriggerClass& rule, std::string_view text);
Judgement JudgeScript(const Parts& before, const Parts& after);  // the order counts, too

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

}  // namespace cloche::rules
