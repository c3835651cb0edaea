#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "change/model/change.h"

namespace cloche::rules {

// How to judge a change to a file: which parts are commands that run later.
enum class Judge : uint8_t {
  kKeys,           // the values of the class's keys, read in its format
  kScript,         // every line except comments
  kLiteralCode,    // every line except comments and literal data (setup.py, Gemfile)
  kToolCode,       // lines that start a process, use the network or evaluate text
  kMake,           // recipes, $(shell), variables that name commands
  kCMake,          // commands that run something when configuring, building or installing
  kDocker,         // instructions except labels and the like; an image's tag is data
  kLock,           // package sources and checksums
  kGitAttributes,  // drivers and filters
  kPackedRefs,     // replaced objects
  kGitLink,        // a .git that is not a directory, or a second repository
  kPathFile,       // *.pth: lines that are code
  kBinDirectory,   // an executable or a link in a directory of commands
  kAgentText,      // commands among an agent's instructions
  kAny,            // anything
  kNotice,         // shown, never an alarm
  kExecutable,     // modes and content that the kernel executes
  kUnseen,         // characters and names that do not look like what they are
};

enum class Format : uint8_t { kNone, kJson, kYaml, kGitConfig, kIni, kToml, kXml, kWords };

// One class of files that make something run later on the user's machine, or change what runs.
// Lists are words separated by spaces. A glob that starts with "~/" is relative to the home
// directory, with "/" to the root, and with "!" excludes; any other is relative to the project, or
// else the home directory, or else the root. A key is a pattern for a key's name, or for name and
// value: `branch.*.remote=*:*`; if it starts with "@", its version may change, if with "^", it must
// not be removed.
struct TriggerClass {
  std::string_view id;
  std::string_view reason;  // one sentence
  std::string_view source;  // where a tool's documentation says so
  std::string_view globs;
  Judge judge;
  Format format = Format::kNone;
  std::string_view keys;
};

// Each class once. docs/triggers.md shows the table; a test compares them.
std::span<const TriggerClass> TriggerTable();
std::string_view JudgeText(Judge judge);  // for that document

// One state of a path. The content of a symlink is its target; absent: too large, binary and so
// left out, or unreadable.
struct Version {
  change::FileType type = change::FileType::kFile;
  uint32_t mode = 0644;
  std::optional<std::string_view> content;
};

// A rename is a deletion and an addition. An attacker may have chosen every byte.
struct FileChange {
  std::string_view path;  // absolute and clean
  std::optional<Version> before;
  std::optional<Version> after;
  bool same_content = false;  // known without reading: only modes differ
  // Variables, in lower case, that recipes of other makefiles start; as words.
  std::string_view make_commands;
};

struct Roots {
  std::string_view project;  // absolute and clean; "" = none
  std::string_view home;
};

enum class Severity : uint8_t { kNotice, kAlarm };

struct Trigger {
  std::string_view id;
  std::string_view reason;
  Severity severity = Severity::kNotice;
  // The lines or `key = value` that matter, raw: escape them before printing.
  std::vector<std::string> effective;
  size_t left_out = 0;  // this many more were found
};

inline constexpr size_t kMaxEffective = 40;
inline constexpr size_t kMaxEffectiveLine = 400;  // longer ones end with "..."
// No parser reads content beyond this: it cannot be judged, so it is an alarm.
inline constexpr size_t kMaxJudged = 8 << 20;

// Alarms first. Empty: the file is not a trigger.
std::vector<Trigger> FindTriggers(const FileChange& change, const Roots& roots);

// A makefile's references: the variables that its recipes start, in lower case, and its includes,
// as written.
struct MakeUses {
  std::vector<std::string> commands;
  std::vector<std::string> includes;
};
MakeUses MakeUsesOf(std::string_view text);

// Judges a file as this class, whatever its name, because another file refers to it as such.
std::optional<Trigger> JudgedAs(std::string_view id, const FileChange& change, const Roots& roots);

// Globs of absolute paths where the home directory and the system have trigger files, whatever the
// project.
std::vector<std::string> TriggerPlaces(const Roots& roots);

}  // namespace cloche::rules
