#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "change/rules/code_lines.h"
#include "change/rules/line_sets.h"
#include "change/rules/triggers.h"

namespace cloche::rules {

// A file split into parts: a new command is an alarm, other new data is only shown.
struct Parts {
  std::vector<Part> commands;
  std::vector<Part> data;
};

Parts ScriptParts(std::string_view text, Comments comments);
Parts LiteralCodeParts(std::string_view text, Comments comments);
Parts ToolCodeParts(std::string_view text, Comments comments);
// `commands`: variables, as words, that recipes in other files start.
Parts MakeParts(std::string_view text, std::string_view commands = {});
Parts DependencyParts(std::string_view text);
Parts JustParts(std::string_view text);
Parts CMakeParts(std::string_view text);
bool CMakeRefuses(std::string_view text);  // a string, bracket or parenthesis never ends
Parts DockerParts(std::string_view text);
Parts GitAttributeParts(std::string_view text);
Parts PathFileParts(std::string_view text);
Parts AgentTextParts(std::string_view text);

// A judge's findings: reasons for an alarm, and the rest of the change.
struct Judgement {
  std::vector<std::string> alarms;
  std::vector<std::string> notices;
};

// Compares two states of a file by meaning, if its class's judge examines content. `before` is
// absent for a new file. Content that cannot be read with certainty is an alarm.
Judgement JudgeContent(const TriggerClass& rule, std::string_view name,
                       std::optional<std::string_view> before, std::string_view after,
                       std::string_view make_commands = {});
// Keys that protect against something: deleting their file removes the protection.
std::vector<std::string> GuardsOf(const TriggerClass& rule, std::string_view text);
Judgement JudgeScript(const Parts& before, const Parts& after);  // order counts, too

struct LockChange {
  std::vector<std::string> alarms;
  std::vector<std::string> notices;
};
LockChange CompareLocks(std::string_view name, std::optional<std::string_view> before,
                        std::string_view after);

// Where a URL leads, without the version: "https://host", or with the path for a repository. "" if
// it is not a URL.
std::string SourceOf(std::string_view url);

// Drops the version from `owner/action@v4`, `image:1.2`.
std::string WithoutVersion(std::string_view value);

// New lines with bidirectional or invisible characters. In `prose`, those that writing systems and
// emoji need are allowed.
std::vector<std::string> UnseenLines(std::optional<std::string_view> before, std::string_view after,
                                     bool prose);
bool NameDeceives(std::string_view path);   // control, bidirectional, invisible characters
bool NameDisguises(std::string_view path);  // a component that some filesystem treats as .git

}  // namespace cloche::rules
