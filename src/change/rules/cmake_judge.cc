#include <algorithm>
#include <set>

#include "change/rules/glob.h"
#include "change/rules/judges.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

constexpr auto kRuns =
    "execute_process exec_program add_custom_command add_custom_target try_run cmake_language "
    "externalproject_add externalproject_add_step fetchcontent_declare cpmaddpackage "
    "cpmfindpackage cpmdeclarepackage externaldata_add_target ctest_run_script ctest_configure "
    "ctest_build ctest_test ctest_update include find_program load_command build_command "
    "ctest_start include_external_msproject "
    "define_property variable_watch"sv;
// Found in arguments of set(), option(), set_property() and so on.
constexpr auto kSteers =
    "_launcher rule_launch _compiler toolchain_file project_include rule_messages emulator "
    "cmake_make_program cmake_ar cmake_linker ld_preload _clang_tidy _cppcheck _cpplint "
    "_include_what_you_use _pvs_studio automoc_executable autouic_executable autorcc_executable "
    "_link_executable _compile_object _create_shared _create_static _archive_ "
    "make_rules_override imported_location"sv;
// A compiler loads or starts what these name, wherever they occur.
constexpr auto kLoads =
    "-fplugin -fpass-plugin -wrapper -specs= -fuse-ld=/ -load -plugin -xclang --ld-path "
    "--gcc-toolchain --gcc-install-dir"sv;
// file() subcommands that write.
constexpr auto kWrites =
    "write append touch touch_nocreate configure copy copy_file install rename remove "
    "remove_recurse make_directory create_link archive_extract chmod chmod_recurse"sv;
constexpr auto kVersions = "git_tag url_hash url_md5 version"sv;
// Sections of a custom command that hold data, up to the next word in capitals.
constexpr auto kDataSections = "depends byproducts comment sources main_dependency"sv;

bool IsCapital(std::string_view text) {
  return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == text.npos;
}

// `CMAKE_${LANGUAGE}_COMPILER` -> `CMAKE__COMPILER`
std::string WithoutVariables(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t begin = text.find("${");
    out.append(text.substr(0, begin));
    const size_t end = begin == text.npos ? text.npos : text.find('}', begin);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

struct Call {
  std::string name;  // lower case
  std::vector<std::string> arguments;
};

// Reads the arguments of `name(`; ends after the closing parenthesis.
class Arguments {
 public:
  Arguments(std::string_view text, size_t at) : text_(text), at_(at) {}

  // The values, without quotes and brackets, with escapes resolved.
  std::vector<std::string> Read() {
    std::vector<std::string> arguments;
    size_t depth = 1;
    std::string word;
    bool any = false;
    const auto flush = [&] {
      if (any) arguments.push_back(std::move(word));
      word.clear();
      any = false;
    };
    while (at_ < text_.size() && depth > 0) {
      const char c = text_[at_];
      if (c == '#') {
        flush();
        SkipComment();
      } else if (c == '"') {
        any = true;
        Quoted(word);
      } else if (c == '[' && !any && BracketLevel() != text_.npos) {
        any = true;
        Bracketed(word);
      } else if (c == '\\') {
        any = true;
        Escaped(word);
      } else {
        depth += c == '(' ? 1 : 0;
        depth -= c == ')' ? 1 : 0;
        // ';' separates unquoted text.
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '(' || c == ')' || c == ';') {
          flush();
        } else {
          any = true;
          word.push_back(c);
        }
        ++at_;
      }
    }
    flush();
    if (depth > 0) ended_ = false;
    return arguments;
  }
  size_t at() const { return at_; }
  bool ended() const { return ended_; }  // false: the text ended first

  void SkipComment() {
    ++at_;
    std::string comment;
    if (at_ < text_.size() && text_[at_] == '[' && BracketLevel() != text_.npos)
      Bracketed(comment);
    else
      at_ = std::min(text_.find('\n', at_), text_.size());
  }

 private:
  void Escaped(std::string& word) {
    ++at_;
    if (at_ < text_.size()) word.push_back(text_[at_++]);
  }
  void Quoted(std::string& word) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        // A continued line.
        if (text_.substr(at_).starts_with("\\\n"))
          at_ += 2;
        else
          Escaped(word);
      } else {
        word.push_back(text_[at_++]);
      }
    }
    if (at_ >= text_.size()) ended_ = false;
    at_ = std::min(at_ + 1, text_.size());
  }
  // For `[==[`: 2; npos if it is not such a bracket.
  size_t BracketLevel() const {
    const size_t end = text_.find_first_not_of('=', at_ + 1);
    return end != text_.npos && text_[end] == '[' ? end - at_ - 1 : text_.npos;
  }
  void Bracketed(std::string& word) {
    const size_t level = BracketLevel();
    const std::string closing = "]" + std::string(level, '=') + "]";
    const size_t begin = at_ + level + 2;
    const size_t end = text_.find(closing, begin);
    if (end == text_.npos) ended_ = false;
    word.append(text_.substr(std::min(begin, text_.size()), end - begin));
    at_ = end == text_.npos ? text_.size() : end + closing.size();
  }

  std::string_view text_;
  size_t at_;
  bool ended_ = true;
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct Calls {
  std::vector<Call> calls;
  bool refused = false;
};

Calls CallsIn(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Calls all;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '#') {
      Arguments comment(text, i);
      comment.SkipComment();
      i = comment.at();
      all.refused = all.refused || !comment.ended();
      continue;
    }
    if (!IsNameCharacter(text[i])) {
      if (text[i] != ' ' && text[i] != '\t' && text[i] != '\n' && text[i] != '\r')
        all.refused = true;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    size_t open = end;
    while (open < text.size() && (text[open] == ' ' || text[open] == '\t')) ++open;
    if (open >= text.size() || text[open] != '(') {
      all.refused = true;
      i = end;
      continue;
    }
    Arguments arguments(text, open + 1);
    Call call{Lowered(text.substr(i, end - i)), arguments.Read()};
    i = arguments.at();
    all.refused = all.refused || !arguments.ended();
    all.calls.push_back(std::move(call));
  }
  return all;
}

// With -B the compiler takes its own parts from elsewhere.
bool NamesParts(std::string_view argument) {
  if (argument.starts_with("SHELL:")) argument.remove_prefix(6);
  std::string spaced(argument);
  std::ranges::replace(spaced, '\t', ' ');
  return AnyWord(spaced, [](auto word) { return word.starts_with("-B"); });
}

// `CMAKE_C_COMPILER_LAUN${E}CHER`, `CMAKE_${X}`: the final name is unknown.
bool IsHalfName(std::string_view name) {
  const size_t begin = name.find("${");
  if (begin == name.npos) return false;
  const size_t end = name.find('}', begin);
  if (end == name.npos || end + 1 == name.size()) return true;
  return (begin > 0 && name[begin - 1] != '_') || name[end + 1] != '_' ||
         IsHalfName(name.substr(end + 1));
}

// The property's name is known only at run time.
bool SetsSomeProperty(const Call& call) {
  const bool sets_one = call.name == "set_property";
  if (!sets_one && (!call.name.starts_with("set_") || !call.name.ends_with("_properties")))
    return false;
  const auto from = std::ranges::find_if(call.arguments, [&](const std::string& each) {
    return each == (sets_one ? "PROPERTY" : "PROPERTIES");
  });
  if (from == call.arguments.end()) return true;
  const auto begin = static_cast<size_t>(from - call.arguments.begin()) + 1;
  for (size_t i = begin; i < call.arguments.size(); i += 2) {
    if (IsHalfName(call.arguments[i])) return true;
    if (sets_one) break;
  }
  return false;
}

// The commands a call starts: the words after COMMAND, or all of an old add_test().
std::vector<std::vector<std::string>> CommandsOf(const Call& call) {
  std::vector<std::vector<std::string>> commands;
  const bool old_test = call.name == "add_test" && !call.arguments.empty() &&
                        call.arguments.front() != "NAME" && call.arguments.size() > 1;
  if (old_test) return {{call.arguments.begin() + 1, call.arguments.end()}};
  bool within = false;
  for (const std::string& each : call.arguments) {
    if (each == "COMMAND") {
      within = true;
      commands.emplace_back();
    } else if (AnyWord("WORKING_DIRECTORY COMMENT DEPENDS BYPRODUCTS CONFIGURATIONS",
                       [&](auto word) { return word == each; })) {
      within = false;
    } else if (within) {
      commands.back().push_back(each);
    }
  }
  return commands;
}

std::set<std::string> VariablesIn(std::string_view text) {
  std::set<std::string> names;
  for (size_t at = text.find("${"); at != text.npos; at = text.find("${", at + 2)) {
    const size_t end = std::min(text.find('}', at), text.size());
    names.insert(Lowered(text.substr(at + 2, end - at - 2)));
  }
  return names;
}

// Context in the file that decides whether a call runs something.
struct Surroundings {
  std::set<std::string> targets;            // programs that this file builds
  std::set<std::string> command_variables;  // lower case; used as a command
};

Surroundings Look(const std::vector<Call>& calls) {
  Surroundings found;
  for (const Call& call : calls) {
    const auto imported = std::ranges::find(call.arguments, "IMPORTED");
    if (call.name == "add_executable" && !call.arguments.empty() &&
        imported == call.arguments.end())
      found.targets.insert(call.arguments.front());
    for (const auto& command : CommandsOf(call)) {
      if (command.empty()) continue;
      found.command_variables.merge(VariablesIn(command.front()));
      // A shell or an interpreter: its arguments are commands, too.
      const std::string first = Lowered(command.front().substr(command.front().rfind('/') + 1));
      const bool interprets = AnyWord(
          "sh bash dash zsh env python python3 perl ruby node cmd powershell pwsh xargs "
          "sudo ${cmake_command} ${python_executable} ${python3_executable} "
          "${bash_program}",
          [&](auto each) { return each == first; });
      if (interprets)
        for (const std::string& word : command) found.command_variables.merge(VariablesIn(word));
    }
  }
  return found;
}

// ctest starts it. A program that the file builds is edited elsewhere; any other is a command.
bool TestRuns(const Call& call, const Surroundings& around) {
  if (call.name != "add_test") return false;
  const auto commands = CommandsOf(call);
  if (commands.empty() || commands.front().empty()) return true;
  return std::ranges::any_of(commands, [&](const auto& command) {
    if (command.empty()) return true;
    const std::string& first = command.front();
    return !around.targets.contains(first) && !first.starts_with("$<TARGET_FILE:");
  });
}

// Most commands can write to a variable passed to them; these do not.
bool MaySet(std::string_view name) {
  return !AnyWord(
      "if elseif else endif while endwhile message return project unset mark_as_advanced "
      "target_compile_definitions target_compile_options target_link_libraries",
      [&](auto each) { return each == name; });
}

// A CMake module, or a file that is itself judged.
bool IsJudged(const std::string& included) {
  if (included.starts_with('/') || included.find("..") != included.npos ||
      included.find("$env") != included.npos)
    return false;
  // Build output is not judged.
  if (!VariablesIn(included).empty() &&
      !AnyWord(
          "${cmake_current_source_dir}/ ${cmake_source_dir}/ ${project_source_dir}/ "
          "${cmake_current_list_dir}/ ${cmake_root}/",
          [&](auto top) { return included.starts_with(top) && VariablesIn(included).size() == 1; }))
    return false;
  return included.ends_with(".cmake") ||
         (!included.empty() && std::ranges::all_of(included, IsNameCharacter));
}

// A file that is read as commands, or whose name only CMake can compute.
bool IsCode(const std::string& path) {
  const std::string plain = WithoutVariables(path);
  return path.ends_with(".cmake") || path.ends_with("cmakelists.txt") || plain.empty() ||
         plain.ends_with('/');
}

// A place where a build should not write.
bool IsElsewhere(const std::string& path) {
  return path.starts_with('/') || path.starts_with('~') || path.find("..") != path.npos ||
         path.find("$env") != path.npos || path.find(".git") != path.npos;
}

bool Runs(const Call& call, const Surroundings& around) {
  const std::string first = call.arguments.empty() ? "" : Lowered(call.arguments.front());
  if (call.name == "include" && IsJudged(first)) return false;
  if (AnyWord(kRuns, [&](auto name) { return name == call.name; })) return true;
  if (TestRuns(call, around) || SetsSomeProperty(call)) return true;
  if (call.name == "fetchcontent_populate" && call.arguments.size() > 1) return true;
  if (call.name == "set" && first.starts_with("cmake_") && IsHalfName(first)) return true;
  if (MaySet(call.name) && std::ranges::any_of(call.arguments, [&](const std::string& each) {
        return around.command_variables.contains(Lowered(each));
      }))
    return true;
  // If the variable's name is known only at run time, it may be any of those below.
  if (call.name == "set" && !first.empty() && WithoutVariables(first).empty() &&
      call.arguments.size() > 1)
    return true;
  if (call.name == "set" && first.starts_with("env{")) return true;
  const bool writes = call.name == "configure_file" ||
                      (call.name == "file" &&
                       AnyWord(kWrites, [&](std::string_view each) { return each == first; }));
  if (call.name == "file" && writes && call.arguments.size() > 1 &&
      IsCode(Lowered(call.arguments[1])))
    return true;
  if (writes && std::ranges::any_of(call.arguments, [](const std::string& each) {
        return IsElsewhere(Lowered(each));
      }))
    return true;
  if (call.name == "file") return first == "download" || first == "upload" || first == "generate";
  for (const std::string& argument : call.arguments) {
    const std::string lower = Lowered(argument);
    if (call.name == "install" && (lower == "code" || lower == "script")) return true;
    if (NamesParts(argument)) return true;
    if (AnyWord(kLoads, [&](auto part) { return lower.find(part) != lower.npos; })) return true;
    if (MaySet(call.name) && IsCapital(WithoutVariables(argument)) &&
        AnyWord(kSteers, [&](auto part) { return lower.find(part) != lower.npos; }))
      return true;
  }
  return false;
}

}  // namespace

bool CMakeRefuses(std::string_view text) {
  const Calls all = CallsIn(text);
  if (all.refused) return true;
  return AnyWord("if foreach while function macro block", [&](std::string_view name) {
    const auto is = [&](const Call& call) { return call.name == name; };
    const auto ends = [&](const Call& call) { return call.name == "end" + std::string(name); };
    return std::ranges::count_if(all.calls, is) != std::ranges::count_if(all.calls, ends);
  });
}

Parts CMakeParts(std::string_view text) {
  Parts parts;
  const std::vector<Call> calls = CallsIn(text).calls;
  const Surroundings around = Look(calls);
  for (const Call& call : calls) {
    std::string shown = call.name + "(";
    std::string same = shown;
    enum { kCounts, kVersion, kData } next = kCounts;
    for (const std::string& argument : call.arguments) {
      shown.append(shown.ends_with('(') ? "" : " ").append(argument);
      if (next == kData && IsCapital(argument)) next = kCounts;
      if (next == kCounts) {
        const std::string source = SourceOf(argument);
        same.append("\x1f").append(source.empty() ? argument : source);
      }
      const std::string lower = Lowered(argument);
      const auto is_lower = [&](std::string_view word) { return word == lower; };
      if (next != kData) next = kCounts;
      if (call.name.starts_with("add_custom_") && AnyWord(kDataSections, is_lower)) next = kData;
      if (!call.name.starts_with("add_custom_") && AnyWord(kVersions, is_lower)) next = kVersion;
    }
    shown.push_back(')');
    if (Runs(call, around)) parts.commands.push_back({std::move(same), shown});
    parts.data.push_back({std::move(shown)});
  }
  return parts;
}

}  // namespace cloche::rules
