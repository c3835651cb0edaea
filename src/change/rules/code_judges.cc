#include <algorithm>
#include <array>
#include <set>

#include "change/rules/code_lines.h"
#include "change/rules/glob.h"
#include "change/rules/judges.h"
#include "change/rules/key_values.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

// People edit tool code every day; these words make it reach out of itself. No such list is
// complete, so the change is shown in any case.
constexpr std::array kReachingOut = {"subprocess"sv,
                                     "os.system"sv,
                                     "popen"sv,
                                     "os.exec"sv,
                                     "os.spawn"sv,
                                     "pty"sv,
                                     "exec("sv,
                                     "eval("sv,
                                     "eval "sv,
                                     "compile("sv,
                                     "__import__"sv,
                                     "importlib"sv,
                                     "getattr("sv,
                                     "globals("sv,
                                     "marshal"sv,
                                     "pickle"sv,
                                     "ctypes"sv,
                                     "urllib"sv,
                                     "requests."sv,
                                     "httpx"sv,
                                     "http.client"sv,
                                     "socket"sv,
                                     "base64"sv,
                                     "b64decode"sv,
                                     "child_process"sv,
                                     "execsync"sv,
                                     "execfile"sv,
                                     "spawnsync"sv,
                                     "spawn("sv,
                                     "fork("sv,
                                     "new function("sv,
                                     "fetch("sv,
                                     "atob("sv,
                                     "xmlhttprequest"sv,
                                     "node:http"sv,
                                     "node:https"sv,
                                     "node:net"sv,
                                     "'http'"sv,
                                     "'https'"sv,
                                     "\"http\""sv,
                                     "\"https\""sv,
                                     "process.binding"sv,
                                     "deno.run"sv,
                                     "deno.command"sv,
                                     "bun.spawn"sv,
                                     "processbuilder"sv,
                                     "getruntime"sv,
                                     ".execute("sv,
                                     "commandline"sv,
                                     "apply from"sv,
                                     "system("sv,
                                     "system "sv,
                                     "%x"sv,
                                     "io.popen"sv,
                                     "open-uri"sv,
                                     "net::http"sv,
                                     "kernel.exec"sv,
                                     "sh "sv,
                                     "bash "sv,
                                     "curl "sv,
                                     "wget "sv,
                                     "run_command("sv,
                                     "custom_target("sv,
                                     "add_install_script"sv,
                                     "add_postconf_script"sv,
                                     "add_dist_script"sv,
                                     "find_program("sv,
                                     "genrule"sv,
                                     "run_shell"sv,
                                     "actions.run"sv,
                                     "http_archive"sv,
                                     "http_file"sv,
                                     "git_repository"sv,
                                     "repository_rule"sv,
                                     "repository_ctx"sv,
                                     "sh_binary"sv,
                                     "cmd ="sv,
                                     "cmd_bash"sv,
                                     "cmd="sv,
                                     "ac_config_commands"sv,
                                     "m4_esyscmd"sv,
                                     "m4_syscmd"sv,
                                     "esyscmd("sv,
                                     "provision"sv,
                                     "local_resource"sv,
                                     "session.run"sv,
                                     "invoke"sv,
                                     "command ="sv,
                                     "command="sv,
                                     "command("sv,
                                     "<exec"sv,
                                     "<java"sv,
                                     "<script"sv,
                                     "<taskdef"sv,
                                     "<import"sv,
                                     "sh("sv,
                                     "ruby("sv,
                                     "system.cmd"sv,
                                     "system.shell"sv,
                                     "port.open"sv,
                                     "local("sv,
                                     "run_cmd("sv,
                                     "os.cmd"sv,
                                     "os:cmd"sv,
                                     "execute("sv,
                                     "exec_program"sv,
                                     "kernel.system"sv,
                                     "kernel.spawn"sv,
                                     "open3"sv,
                                     "run("sv,
                                     "execa"sv,
                                     "zx"sv,
                                     "vm.runin"sv,
                                     "exec.command"sv,
                                     "addsystemcommand"sv,
                                     "shellhook"sv,
                                     "pre_hooks"sv,
                                     "post_hooks"sv,
                                     "shell:"sv,
                                     "(shell"sv,
                                     "(run"sv,
                                     "(system"sv,
                                     "qmake_post_link"sv,
                                     "qmake_pre_link"sv,
                                     "\".!"sv,
                                     "\".!!"sv,
                                     "'actions'"sv,
                                     "\"actions\""sv,
                                     "$(shell"sv,
                                     "provider ="sv,
                                     "buildfilename"sv,
                                     "apply(from"sv,
                                     "initializeonload"sv,
                                     "/// script"sv,
                                     "globalsetup"sv,
                                     "globalteardown"sv,
                                     "setupfiles"sv,
                                     "setupfilesafterenv"sv,
                                     "prepare_command"sv,
                                     "script_phase"sv,
                                     "script_phases"sv,
                                     "`"sv};

// A URL beside one of these says where code comes from.
constexpr std::array kTakesFrom = {"url"sv,    "uri"sv, "maven"sv,      "source"sv,
                                   "remote"sv, "git"sv, "repository"sv, "registry"sv};

bool ReachesOut(std::string_view line) {
  std::string lower = Lowered(line);
  // A word written in escapes, or across two lines, would go unnoticed.
  for (const std::string_view escape : {"\\u"sv, "\\x"sv})
    if (lower.find(escape) != lower.npos) return true;
  for (size_t at = lower.find("\\\n"); at != lower.npos; at = lower.find("\\\n", at))
    lower.erase(at, 2);
  if (std::ranges::any_of(kReachingOut, [&](auto word) { return ContainsWord(lower, word); }))
    return true;
  return lower.find("://") != lower.npos &&
         std::ranges::any_of(kTakesFrom, [&](auto word) { return ContainsWord(lower, word); });
}

// A string assigned to one of these is a command, or the place a command comes from.
constexpr auto kCommandNames =
    "cmd cmd_bash command commands cmdclass entry_points scripts script source url urls remote "
    "executable distclass ext_modules setup_requires dependency_links git path branch ref "
    "pre_install post_install post_integrate interpreter program entrypoint args argv "
    "environment env"sv;

bool IsLiteral(std::string_view text) {
  text = TrimLine(text);
  while (text.ends_with(',')) text = TrimLine(text.substr(0, text.size() - 1));
  if (text.empty()) return false;
  if (text == "True" || text == "False" || text == "None" || text == "true" || text == "false")
    return true;
  const auto is_number = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '_'; };
  if (std::ranges::all_of(text, is_number)) return true;
  const char quote = text.front();
  if ((quote != '"' && quote != '\'') || text.size() < 2 || text.back() != quote) return false;
  const std::string_view inside = text.substr(1, text.size() - 2);
  // '$' and "#{" begin an expression in Groovy and Ruby.
  return inside.find_first_of("\"'\\`$") == inside.npos && inside.find("#{") == inside.npos;
}

bool LooksLikeEntryPoint(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != text.npos && equals > 0 &&
         text.find_first_of("<>!~=", equals + 1) == text.npos &&
         text.find_first_of("<>!~") == text.npos && text.find(':', equals) != text.npos;
}

// `gem "rails", "~> 7.1"` and the like: a name and versions, but no source.
bool IsDependencyLine(std::string_view line) {
  if (!line.starts_with("gem ") && !line.starts_with("gem(") && !line.starts_with("pod "))
    return false;
  std::string_view rest = line.substr(4);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (!IsLiteral(rest.substr(0, comma))) return false;
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
  }
  return true;
}

bool IsLiteralLine(std::string_view line) {
  if (line.find_first_not_of("()[]{},") == line.npos) return true;
  if (IsDependencyLine(line)) return true;
  if (IsLiteral(line)) return !LooksLikeEntryPoint(line) && line.find("://") == line.npos;
  size_t equals = line.find_first_of("=:");
  if (equals == line.npos) return false;
  const std::string_view name = Unquoted(line.substr(0, equals));
  if (name.empty() || !std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
      }))
    return false;
  const std::string lower = Lowered(name);
  // In a setup.py, `url=` is the home page, not where the package comes from.
  if (AnyWord(kCommandNames, [&](auto word) { return word == lower && word != "url"; }))
    return false;
  const std::string_view value = TrimLine(line.substr(equals + 1));
  return value == "[" || value == "(" || IsLiteral(value) || (value.starts_with('[') && [&] {
           std::string_view rest = value.substr(1);
           while (rest.ends_with(',') || rest.ends_with(']')) rest.remove_suffix(1);
           while (!rest.empty()) {
             const size_t comma = rest.find(',');
             const std::string_view item = rest.substr(0, comma);
             if (!TrimLine(item).empty() &&
                 (!IsLiteral(item) || LooksLikeEntryPoint(item) || item.find("://") != item.npos))
               return false;
             rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
           }
           return true;
         }());
}

// Tracks open brackets: a literal among the arguments of a call is something the call acts on.
class Brackets {
 public:
  bool Plain() const { return plain_.empty() || plain_.back(); }

  void Follow(std::string_view line) {
    char quote = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quote != 0) {
        if (c == '\\') ++i;
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '#') {
        return;
      } else if (c == '(' || c == '[' || c == '{') {
        plain_.push_back(Plain() && OpensPlainly(line.substr(0, i), c));
        if (plain_.size() > kMaxDepth) plain_.front() = plain_.back() = false;
      } else if ((c == ')' || c == ']' || c == '}') && !plain_.empty()) {
        plain_.pop_back();
      }
    }
  }

 private:
  // `setup(`, `classifiers=[`, `"x": {`; not `run([`, `scripts=[`.
  static bool OpensPlainly(std::string_view before, char bracket) {
    before = TrimLine(before);
    if (bracket == '(') {
      size_t begin = before.size();
      while (begin > 0 && (IsWord(before[begin - 1]) || before[begin - 1] == '.')) --begin;
      const std::string_view name = before.substr(begin);
      return name.empty() || AnyWord(kPlainCalls, [&](auto each) { return each == name; });
    }
    if (!before.ends_with('=') && !before.ends_with(':')) return true;
    before = TrimLine(before.substr(0, before.size() - 1));
    size_t begin = before.size();
    while (begin > 0 &&
           (IsWord(before[begin - 1]) || before[begin - 1] == '"' || before[begin - 1] == '\''))
      --begin;
    const std::string name = Lowered(Unquoted(before.substr(begin)));
    return !AnyWord(kCommandNames, [&](auto each) { return each == name; });
  }
  static bool IsWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  static constexpr auto kPlainCalls =
      "setup setuptools.setup dict list set tuple Extension setuptools.Extension find_packages "
      "find_namespace_packages setuptools.find_packages parameters choice string booleanParam "
      "options triggers"sv;

  std::vector<bool> plain_;
};

}  // namespace

Parts ScriptParts(std::string_view text, Comments comments) {
  Parts parts;
  for (CodeLine& line : CodeLines(text, comments)) {
    std::string shown = TrimLine(line.text).empty() ? "(an empty line)" : line.text;
    parts.commands.push_back({std::move(line.text), std::move(shown)});
  }
  return parts;
}

Parts LiteralCodeParts(std::string_view text, Comments comments) {
  Parts parts;
  Brackets brackets;
  for (const CodeLine& line : CodeLines(text, comments)) {
    const std::string_view trimmed = TrimLine(line.text);
    if (trimmed.empty()) continue;
    const bool closes = trimmed.find_first_not_of(")]},") == trimmed.npos;
    const bool literal = !line.odd && IsLiteralLine(trimmed) && (brackets.Plain() || closes);
    (literal ? parts.data : parts.commands).push_back({std::string(trimmed)});
    brackets.Follow(line.text);
  }
  return parts;
}

Parts ToolCodeParts(std::string_view text, Comments comments) {
  Parts parts;
  for (const CodeLine& line : CodeLines(text, comments)) {
    const std::string_view trimmed = TrimLine(line.text);
    if (trimmed.empty()) continue;
    if (line.odd || ReachesOut(trimmed)) parts.commands.push_back({std::string(trimmed)});
    parts.data.push_back({std::string(trimmed)});
  }
  return parts;
}

Parts GitAttributeParts(std::string_view text) {
  // git's built-in drivers, and that of git-lfs, which most people have.
  constexpr auto kKnown =
      "diff=ada diff=bash diff=bibtex diff=cpp diff=csharp diff=css diff=dts diff=elixir "
      "diff=fortran diff=fountain diff=golang diff=html diff=ini diff=java diff=kotlin diff=lfs "
      "diff=markdown diff=matlab diff=objc diff=pascal diff=perl diff=php diff=python diff=ruby "
      "diff=rust diff=scheme diff=tex filter=lfs merge=binary merge=lfs merge=ours merge=text "
      "merge=union"sv;
  Parts parts;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::set<std::string, std::less<>> macros;  // `[attr]name filter=x`: a name that stands for it
  for (const std::string_view raw : Lines(text)) {
    const std::string_view line = TrimLine(raw);
    if (line.empty() || line.starts_with('#')) continue;
    parts.data.push_back({std::string(line)});
    std::string spaced(line);
    std::ranges::replace(spaced, '\t', ' ');
    if (!AnyWord(spaced, [&](auto word) {
          return macros.contains(word) ||
                 ((word.starts_with("filter=") || word.starts_with("diff=") ||
                   word.starts_with("merge=")) &&
                  !AnyWord(kKnown, [&](auto known) { return known == word; }));
        }))
      continue;
    parts.commands.push_back({std::string(line)});
    if (line.starts_with("[attr]"))
      macros.emplace(spaced.substr(6, spaced.find(' ') - std::min<size_t>(6, spaced.find(' '))));
  }
  return parts;
}

Parts PathFileParts(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Parts parts;
  for (const std::string_view line : Lines(text)) {
    // Only a '#' in the first column starts a comment.
    if (line.starts_with('#') || TrimLine(line).empty()) continue;
    // Python executes such lines at every start.
    const bool code = line.starts_with("import ") || line.starts_with("import\t");
    (code ? parts.commands : parts.data).push_back({std::string(line)});
  }
  return parts;
}

// Keys between two "---" lines may name hooks, servers and tools; an agent runs !`command` and
// "```!" blocks before it reads the rest.
Parts AgentTextParts(std::string_view text) {
  constexpr auto kPlainKeys =
      "name description argument-hint model color globs alwaysapply paths version license tags "
      "title author applyto metadata"sv;
  Parts parts;
  enum { kStart, kKeys, kText } place = kStart;
  bool plain = false;  // of the current key
  bool block = false;
  ForEachLine(text, [&](std::string_view line) {
    const std::string_view trimmed = TrimLine(line);
    if (trimmed.empty()) return;
    const bool fence = trimmed.starts_with("---");
    bool runs = line.find("!`") != line.npos || line.find("!{") != line.npos || block;
    if (place == kKeys && !fence) {
      const bool top = !line.starts_with(' ') && !line.starts_with('\t') && !line.starts_with('-');
      const std::string key = Lowered(Unquoted(trimmed.substr(0, trimmed.find(':'))));
      if (top) plain = AnyWord(kPlainKeys, [&](auto each) { return each == key; });
      runs = runs || !plain;
    }
    if (fence)
      place = place == kStart ? kKeys : kText;
    else if (place == kStart)
      place = kText;
    if (trimmed.starts_with("```") || trimmed.starts_with("~~~")) {
      block = !block && trimmed.size() > 3 && trimmed[3] == '!';
      runs = runs || block;
    }
    (runs ? parts.commands : parts.data).push_back({std::string(trimmed)});
  });
  return parts;
}

std::string WithoutVersion(std::string_view value) {
  if (const size_t at = value.find('@', 1); at != value.npos) value = value.substr(0, at);
  const size_t slash = value.rfind('/');
  if (const size_t colon = value.rfind(':');
      colon != value.npos && (slash == value.npos || colon > slash))
    value = value.substr(0, colon);
  return std::string(value);
}

}  // namespace cloche::rules
