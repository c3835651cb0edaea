#include <algorithm>

#include "promote/glob.h"
#include "promote/judges.h"

namespace cloche::promote {
namespace {

using namespace std::string_view_literals;

constexpr auto kRuns =
    "execute_process exec_program add_custom_command add_custom_target try_run cmake_language "
    "externalproject_add externalproject_add_step fetchcontent_declare cpmaddpackage include "
    "find_program load_command build_command ctest_start include_external_msproject "
    "define_property variable_watch"sv;
// Part of the arguments of set(), option(), set_property() and so on.
constexpr auto kSteers =
    "_launcher rule_launch _compiler toolchain_file project_include rule_messages emulator "
    "cmake_make_program cmake_ar cmake_linker ld_preload"sv;
constexpr auto kVersions = "git_tag url_hash url_md5 version"sv;
// What follows these in a custom command is data, up to the next word in capitals.
constexpr auto kDataSections = "depends byproducts comment sources main_dependency"sv;

bool IsCapital(std::string_view text) {
  return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == text.npos;
}

struct Call {
  std::string name;  // lower case
  std::vector<std::string> arguments;
};

// Reads `name(arguments)` after `name(`; stands after the closing parenthesis in the end.
class Arguments {
 public:
  Arguments(std::string_view text, size_t at) : text_(text), at_(at) {}

  std::vector<std::string> Read() {
    std::vector<std::string> arguments;
    size_t depth = 1;
    std::string word;
    const auto flush = [&] {
      if (!word.empty()) arguments.push_back(std::move(word));
      word.clear();
    };
    while (at_ < text_.size() && depth > 0) {
      const char c = text_[at_];
      if (c == '#') {
        flush();
        SkipComment();
      } else if (c == '"') {
        word.append(Quoted());
      } else if (c == '[' && BracketLevel() != text_.npos) {
        word.append(Bracketed());
      } else {
        depth += c == '(' ? 1 : 0;
        depth -= c == ')' ? 1 : 0;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '(' || c == ')')
          flush();
        else
          word.push_back(c);
        ++at_;
      }
    }
    flush();
    return arguments;
  }
  size_t at() const { return at_; }

  void SkipComment() {
    ++at_;
    if (at_ < text_.size() && text_[at_] == '[' && BracketLevel() != text_.npos)
      Bracketed();
    else
      at_ = std::min(text_.find('\n', at_), text_.size());
  }

 private:
  std::string_view Quoted() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(begin, at_ - begin);
  }
  // Of `[==[`: 2; npos when it is no such bracket.
  size_t BracketLevel() const {
    const size_t end = text_.find_first_not_of('=', at_ + 1);
    return end != text_.npos && text_[end] == '[' ? end - at_ - 1 : text_.npos;
  }
  std::string_view Bracketed() {
    const size_t begin = at_;
    const std::string closing = "]" + std::string(BracketLevel(), '=') + "]";
    const size_t end = text_.find(closing, at_);
    at_ = end == text_.npos ? text_.size() : end + closing.size();
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  size_t at_;
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<Call> Calls(std::string_view text) {
  std::vector<Call> calls;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '#') {
      Arguments comment(text, i);
      comment.SkipComment();
      i = comment.at();
      continue;
    }
    if (!IsNameCharacter(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    size_t open = end;
    while (open < text.size() && (text[open] == ' ' || text[open] == '\t')) ++open;
    if (open >= text.size() || text[open] != '(') {
      i = end;
      continue;
    }
    Arguments arguments(text, open + 1);
    Call call{Lowered(text.substr(i, end - i)), arguments.Read()};
    i = arguments.at();
    calls.push_back(std::move(call));
  }
  return calls;
}

bool Runs(const Call& call) {
  const std::string first = call.arguments.empty() ? "" : Lowered(call.arguments.front());
  // A module of CMake, or a file of the project, which is judged itself.
  if (call.name == "include" && !first.starts_with('/') && !first.starts_with("\"/") &&
      first.find("..") == first.npos && first.find("$env") == first.npos)
    return false;
  if (AnyWord(kRuns, [&](auto name) { return name == call.name; })) return true;
  if (call.name == "file") return first == "download" || first == "upload" || first == "generate";
  for (const std::string& argument : call.arguments) {
    const std::string lower = Lowered(argument);
    if (call.name == "install" && (lower == "code" || lower == "script")) return true;
    if ((call.name.starts_with("set") || call.name == "list" || call.name == "option") &&
        IsCapital(argument) &&
        AnyWord(kSteers, [&](auto part) { return lower.find(part) != lower.npos; }))
      return true;
  }
  return false;
}

}  // namespace

Parts CMakeParts(std::string_view text) {
  Parts parts;
  for (const Call& call : Calls(text)) {
    std::string shown = call.name + "(";
    std::string same = shown;
    enum { kCounts, kVersion, kData } next = kCounts;
    for (const std::string& argument : call.arguments) {
      shown.append(shown.ends_with('(') ? "" : " ").append(argument);
      if (next == kData && IsCapital(argument)) next = kCounts;
      if (next == kCounts) {
        const std::string source = SourceOf(argument);
        same.append(" ").append(source.empty() ? argument : source);
      }
      const std::string lower = Lowered(argument);
      const auto is_lower = [&](std::string_view word) { return word == lower; };
      if (next != kData) next = kCounts;
      if (call.name.starts_with("add_custom_") && AnyWord(kDataSections, is_lower)) next = kData;
      if (!call.name.starts_with("add_custom_") && AnyWord(kVersions, is_lower)) next = kVersion;
    }
    shown.push_back(')');
    if (Runs(call)) parts.commands.push_back({std::move(same), shown});
    parts.data.push_back({std::move(shown)});
  }
  return parts;
}

}  // namespace cloche::promote
