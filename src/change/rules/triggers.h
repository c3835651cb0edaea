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

// How the change of a file is judged: what of it is a command that runs later.
enum class Judge : uint8_t {
  kKeys,           // the values of the class's keys, read in its format
  kScript,         // every line but comments
  kLiteralCode,    // every line but comments and literal data (setup.py, Gemfile)
  kToolCode,       // lines that start a process, speak to the network or evaluate text
  kMake,           // recipes, $(shell), variables that name commands
  kCMake,          // commands that run something when configuring, building or installing
  kDocker,         // instructions but labels and the like; an image's tag is data
  kLock,           // where packages come from, and their checksums
  kGitAttributes,  // drivers and filters
  kPackedRefs,     // replaced objects
  kGitLink,        // a .git that is no directory, or a second repository
  kPathFile,       // *.pth: lines that are code
  kBinDirectory,   // an executable file or a link where commands are looked for
  kAgentText,      // commands among the instructions of an agent
  kAny,            // whatever it is
  kNotice,         // shown, never an alarm
  kExecutable,     // modes and content that the kernel executes
  kUnseen,         // characters and names that do not look like what they are
};

enum class Format : uint8_t { kNone, kJson, kYaml, kGitConfig, kIni, kToml, kXml, kWords };

// One class of files that make something run, or change what runs, later, on the user's machine.
// Lists are words with spaces between. A glob that begins with "~/" is of the home, with "/" of the
// root, with "!" takes away; any other is relative to the project, else to the home, else to the
// root. A key is a pattern of a key's name, or of name and value: `branch.*.remote=*:*`; one that
// begins with "@" may change its version, one that begins with "^" may not go.
struct TriggerClass {
  std::string_view id;
  std::string_view reason;  // one sentence
  std::string_view source;  // where the tools' documentation says so
  std::string_view globs;
  Judge judge;
  Format format = Format::kNone;
  std::string_view keys;
};

// Each class once. docs/triggers.md shows the table; a test compares.
std::span<const TriggerClass> TriggerTable();
std::string_view JudgeText(Judge judge);  // for that document

// What is at the path before or after. The content of a symlink is its target; absent: too large,
// binary on purpose left out, or unreadable.
struct Version {
  change::FileType type = change::FileType::kFile;
  uint32_t mode = 0644;
  std::optional<std::string_view> content;
};

// A rename is a deletion and an addition. Every byte may have been chosen by an attacker.
struct FileChange {
  std::string_view path;  // absolute and clean
  std::optional<Version> before;
  std::optional<Version> after;
  bool same_content = false;  // known without reading: only modes differ
  // Variables, in lower case, that recipes of other makefiles start; words.
  std::string_view make_commands;
};

struct Roots {
  std::string_view project;  // absolute and clean; "" = there is none
  std::string_view home;
};

enum class Severity : uint8_t { kNotice, kAlarm };

struct Trigger {
  std::string_view id;
  std::string_view reason;
  Severity severity = Severity::kNotice;
  // The lines or `key = value` that matter, raw: whoever prints escapes them.
  std::vector<std::string> effective;
  size_t left_out = 0;  // so many more were found
};

inline constexpr size_t kMaxEffective = 40;
inline constexpr size_t kMaxEffectiveLine = 400;  // longer ones end with "..."
// Content beyond this is not read by any parser: what cannot be judged is an alarm.
inline constexpr size_t kMaxJudged = 8 << 20;

// Alarms first. Empty: this file is no trigger.
std::vector<Trigger> FindTriggers(const FileChange& change, const Roots& roots);

// What a makefile makes of others: the variables that its recipes start, in lower case, and what it
// includes, as it is written.
struct MakeUses {
  std::vector<std::string> commands;
  std::vector<std::string> includes;
};
MakeUses MakeUsesOf(std::string_view text);

// As a file of this class, whatever its name: another file says what it is.
std::optional<Trigger> JudgedAs(std::string_view id, const FileChange& change, const Roots& roots);

// Globs of absolute paths: where the home and the system have trigger files, whatever the project.
std::vector<std::string> TriggerPlaces(const Roots& roots);

}  // namespace cloche::rules
