#include <algorithm>
#include <array>
#include <set>

#include "promote/glob.h"
#include "promote/judges.h"
#include "promote/key_values.h"

namespace cloche::promote {
namespace {

using namespace std::string_view_literals;

// Code that a tool runs whenever it is used is edited every day; these make it reach out of itself.
// No list is complete: the change itself is shown in any case.
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
                                     "`"sv};

// A URL beside one of these says where code is taken from.
constexpr std::array kTakesFrom = {"url"sv,    "uri"sv, "maven"sv,      "source"sv,
                                   "remote"sv, "git"sv, "repository"sv, "registry"sv};

bool ReachesOut(std::string_view line) {
  const std::string lower = Lowered(line);
  if (std::ranges::any_of(kReachingOut, [&](auto word) { return ContainsWord(lower, word); }))
    return true;
  return lower.find("://") != lower.npos &&
         std::ranges::any_of(kTakesFrom, [&](auto word) { return ContainsWord(lower, word); });
}

// Assigned to one of these, a string is a command or the place one is taken from.
constexpr auto kCommandNames =
    "cmd cmd_bash command commands cmdclass entry_points scripts script source url urls remote "
    "executable distclass ext_modules setup_requires dependency_links git path branch ref "
    "pre_install post_install post_integrate"sv;

bool IsLiteral(std::string_view text) {
  text = Trim(text);
  while (text.ends_with(',')) text = Trim(text.substr(0, text.size() - 1));
  if (text.empty()) return false;
  if (text == "True" || text == "False" || text == "None" || text == "true" || text == "false")
    return true;
  const auto is_number = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '_'; };
  if (std::ranges::all_of(text, is_number)) return true;
  const char quote = text.front();
  if ((quote != '"' && quote != '\'') || text.size() < 2 || text.back() != quote) return false;
  const std::string_view inside = text.substr(1, text.size() - 2);
  return inside.find_first_of("\"'\\`") == inside.npos && inside.find("#{") == inside.npos;
}

bool LooksLikeEntryPoint(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != text.npos && equals > 0 &&
         text.find_first_of("<>!~=", equals + 1) == text.npos &&
         text.find_first_of("<>!~") == text.npos && text.find(':', equals) != text.npos;
}

// `gem "rails", "~> 7.1"` and the like: a name and versions, and nothing that says from where.
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
  // `url=` of a setup.py is its home page; where a package comes from is not written there.
  if (AnyWord(kCommandNames, [&](auto word) { return word == lower && word != "url"; }))
    return false;
  const std::string_view value = Trim(line.substr(equals + 1));
  return value == "[" || value == "(" || IsLiteral(value) || (value.starts_with('[') && [&] {
           std::string_view rest = value.substr(1);
           while (rest.ends_with(',') || rest.ends_with(']')) rest.remove_suffix(1);
           while (!rest.empty()) {
             const size_t comma = rest.find(',');
             const std::string_view item = rest.substr(0, comma);
             if (!Trim(item).empty() && (!IsLiteral(item) || LooksLikeEntryPoint(item)))
               return false;
             rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
           }
           return true;
         }());
}

// Lines with a backslash at the end and the ones after them are one.
std::vector<std::string> JoinedLines(std::string_view text) {
  std::vector<std::string> joined;
  bool more = false;
  for (std::string_view line : Lines(text)) {
    const bool continues = line.ends_with('\\');
    if (continues) line.remove_suffix(1);
    if (more)
      joined.back().append(" ").append(Trim(line));
    else
      joined.emplace_back(line);
    more = continues;
  }
  return joined;
}

constexpr auto kToolVariables =
    "ar as cc cpp cxx fc go install jar java javac ld lex make maketargets node npm nvcc objcopy "
    "perl pkg_config pkgconfig python python3 ranlib rm ruby rustc shell sh strip tar yacc "
    ".shellflags .recipeprefix makeflags makefiles path ld_preload ld_library_path"sv;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// The variables that stand where a recipe expects a command: `$(TOOL) x && $(OTHER) y`.
void CollectCommandVariables(std::string_view recipe, std::set<std::string>& names) {
  bool expects = true;
  for (size_t i = 0; i < recipe.size(); ++i) {
    const char c = recipe[i];
    if (expects && c == '$' && i + 1 < recipe.size() &&
        (recipe[i + 1] == '(' || recipe[i + 1] == '{')) {
      size_t end = i + 2;
      while (end < recipe.size() && IsNameCharacter(recipe[end])) ++end;
      names.insert(Lowered(recipe.substr(i + 2, end - i - 2)));
      i = end;
      expects = false;
    } else if (c == ';' || c == '|' || c == '&' || c == '`' || c == '(') {
      expects = true;
    } else if (c != ' ' && c != '\t' && c != '@' && c != '-' && c != '+') {
      expects = false;
    }
  }
}

struct Assignment {
  std::string_view name;
  std::string_view value;
  bool shell = false;  // !=
};

std::optional<Assignment> AssignmentOf(std::string_view line) {
  for (const std::string_view word : {"export "sv, "override "sv, "private "sv, "define "sv})
    if (line.starts_with(word)) line = Trim(line.substr(word.size()));
  const size_t equals = line.find('=');
  if (equals == line.npos) return std::nullopt;
  std::string_view name = line.substr(0, equals);
  bool shell = false;
  while (!name.empty() && std::string_view("+:?!").find(name.back()) != name.npos) {
    shell = shell || name.back() == '!';
    name.remove_suffix(1);
  }
  name = Trim(name);
  // `target: VARIABLE = value` holds for the target.
  if (const size_t colon = name.rfind(':'); colon != name.npos) name = Trim(name.substr(colon + 1));
  if (name.empty() || !std::ranges::all_of(name, IsNameCharacter)) return std::nullopt;
  return Assignment{name, Trim(line.substr(equals + 1)), shell};
}

// `@echo 'make test   runs the tests'`
bool OnlySays(std::string_view recipe) {
  while (recipe.starts_with('@') || recipe.starts_with('-')) recipe.remove_prefix(1);
  return recipe.starts_with("echo ") && recipe.find_first_of("$`;|&<>\\\"(") == recipe.npos;
}

bool RunsInMake(std::string_view text) {
  for (const std::string_view call : {"$(shell"sv, "${shell"sv, "$(eval"sv, "${eval"sv, "$(file"sv,
                                      "$(guile"sv, "$(load"sv, "$(call"sv, "`"sv})
    if (text.find(call) != text.npos) return true;
  return false;
}

}  // namespace

Parts ScriptParts(std::string_view text, bool slashes) {
  Parts parts;
  for (const std::string_view line : CodeLines(text, slashes))
    parts.commands.push_back({std::string(line)});
  return parts;
}

Parts LiteralCodeParts(std::string_view text, bool slashes) {
  Parts parts;
  for (const std::string_view line : CodeLines(text, slashes))
    (IsLiteralLine(line) ? parts.data : parts.commands).push_back({std::string(line)});
  return parts;
}

Parts ToolCodeParts(std::string_view text, bool slashes) {
  Parts parts;
  for (const std::string_view line : CodeLines(text, slashes)) {
    if (ReachesOut(line)) parts.commands.push_back({std::string(line)});
    parts.data.push_back({std::string(line)});
  }
  return parts;
}

Parts MakeParts(std::string_view text, bool any_indent) {
  Parts parts;
  const std::vector<std::string> lines = JoinedLines(text);
  std::set<std::string> command_variables;
  bool odd_prefix = false;
  for (const std::string& line : lines) {
    if (line.starts_with('\t')) CollectCommandVariables(line, command_variables);
    odd_prefix = odd_prefix || line.find(".RECIPEPREFIX") != line.npos;
  }
  bool in_define = false;  // whatever it is used for
  for (const std::string& line : lines) {
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty()) continue;
    if (trimmed == "endef") in_define = false;
    const bool recipe =
        in_define || line.starts_with('\t') || odd_prefix || (any_indent && line.starts_with(' '));
    in_define = in_define || trimmed.starts_with("define ");
    if (trimmed.starts_with('#')) continue;
    const Part part{std::string(trimmed)};
    parts.data.push_back(part);
    if (recipe || RunsInMake(trimmed)) {
      if (!OnlySays(trimmed)) parts.commands.push_back(part);
      continue;
    }
    if (trimmed.starts_with("include ") || trimmed.starts_with("-include ") ||
        trimmed.starts_with("sinclude ") || trimmed.starts_with("load ") ||
        trimmed.starts_with("define ")) {
      parts.commands.push_back(part);
    } else if (const auto assignment = AssignmentOf(trimmed)) {
      const std::string name = Lowered(assignment->name);
      const bool names_tool = command_variables.contains(name) ||
                              AnyWord(kToolVariables, [&](auto word) { return word == name; });
      // What a list of files does not have, a shell acts upon when the list is part of a recipe.
      if (names_tool || assignment->shell ||
          assignment->value.find_first_of(";|&<>") != std::string_view::npos)
        parts.commands.push_back(part);
    } else if (trimmed.find(';') != trimmed.npos) {
      parts.commands.push_back(part);  // target: prerequisite ; recipe
    }
  }
  return parts;
}

Parts DockerParts(std::string_view text) {
  Parts parts;
  for (const std::string& line : JoinedLines(text)) {
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty() || trimmed.starts_with('#')) continue;
    parts.data.push_back({std::string(trimmed)});
    const size_t end = trimmed.find_first_of(" \t");
    const std::string word = Lowered(trimmed.substr(0, end));
    if (AnyWord("label maintainer expose workdir stopsignal arg env volume user copy",
                [&](auto each) { return each == word; }) &&
        !(word == "env" && ContainsWord(Lowered(trimmed), "ld_preload")))
      continue;
    if (word == "from") {
      std::string_view rest = Trim(trimmed.substr(std::min(end, trimmed.size())));
      const size_t image = rest.find(' ');
      parts.commands.push_back(
          {"from " + WithoutVersion(rest.substr(0, image)), std::string(trimmed)});
    } else {
      parts.commands.push_back({std::string(trimmed)});  // and here-documents, line by line
    }
  }
  return parts;
}

Parts GitAttributeParts(std::string_view text) {
  // Drivers that git has itself, and the one of git-lfs, which most people have.
  constexpr auto kKnown =
      "diff=ada diff=bash diff=bibtex diff=cpp diff=csharp diff=css diff=dts diff=elixir "
      "diff=fortran diff=fountain diff=golang diff=html diff=ini diff=java diff=kotlin diff=lfs "
      "diff=markdown diff=matlab diff=objc diff=pascal diff=perl diff=php diff=python diff=ruby "
      "diff=rust diff=scheme diff=tex filter=lfs merge=binary merge=lfs merge=ours merge=text "
      "merge=union"sv;
  Parts parts;
  for (const std::string_view line : CodeLines(text, /*slashes=*/false)) {
    parts.data.push_back({std::string(line)});
    std::string spaced(line);
    std::ranges::replace(spaced, '\t', ' ');
    if (AnyWord(spaced, [&](auto word) {
          return (word.starts_with("filter=") || word.starts_with("diff=") ||
                  word.starts_with("merge=")) &&
                 !AnyWord(kKnown, [&](auto known) { return known == word; });
        }))
      parts.commands.push_back({std::string(line)});
  }
  return parts;
}

Parts PathFileParts(std::string_view text) {
  Parts parts;
  for (const std::string_view line : CodeLines(text, /*slashes=*/false)) {
    // Python executes such lines at every start.
    const bool code = line.starts_with("import ") || line.starts_with("import\t");
    (code ? parts.commands : parts.data).push_back({std::string(line)});
  }
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

}  // namespace cloche::promote
