#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "change/rules/glob.h"
#include "change/rules/judges.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

constexpr auto kToolVariables =
    "ar as cc cpp cxx fc go install jar java javac ld lex make maketargets node npm nvcc objcopy "
    "perl pkg_config pkgconfig python python3 ranlib rm ruby rustc shell sh strip tar yacc "
    ".shellflags .recipeprefix makeflags makefiles path ld_preload ld_library_path ld_audit "
    "gcc_exec_prefix compiler_path pythonpath node_options perl5lib perl5opt bash_env"sv;

// Environment variables from which programs start or load what they name; patterns.
constexpr auto kEnvironment =
    "git_config* git_exec_path git_ssh* git_proxy_command git_external_diff git_pager git_editor "
    "git_sequence_editor git_askpass git_dir git_common_dir git_work_tree git_template_dir "
    "git_attr_* git_object_directory git_alternate_object_directories rustc_* rustdoc* rustflags "
    "cargo_* perl5* perllib java_tool_options _java_options jdk_java_options maven_opts "
    "gradle_opts ant_opts sbt_opts rubyopt rubylib pythonstartup pythonhome pythonbreakpoint "
    "node_path lessopen lessclose editor visual pager manpager browser ld_* dyld_* gcc_* "
    "compiler_path library_path dependencies_output prompt_command shellopts bashopts env zdotdir "
    "home xdg_* ccache_* distcc_* sccache_* goflags gotoolchain goproxy goenv cgo_* npm_config_* "
    "pip_* uv_* tar_options rsync_rsh ssh_askpass sudo_askpass openssl_conf openssl_modules "
    "openssl_engines gconv_path php_ini_scan_dir phprc lua_* luarocks_* guile_load_path "
    "emacsloadpath vimruntime viminit exinit docker_host docker_config kubeconfig aws_config_file "
    "tmpdir make_* gnumakeflags cmake_* ctest_* http_proxy https_proxy all_proxy curl_home "
    "wgetrc gem_home gem_path bundle_* r_profile* r_environ* julia_* ghcrts msbuild* dotnet_* "
    "coreclr_* nuget_*"sv;

// Options that make a compiler, linker or interpreter load or start something.
constexpr auto kLoadingOptions =
    "-fplugin -plugin -wrapper -specs -load -toolexec -fpass-plugin -fuse-ld= --ld-path "
    "--gcc-toolchain --gcc-install-dir -ccc- -iplugindir -Clinker linker= -javaagent -agentlib "
    "-agentpath --require --import --loader --config"sv;

// After these, a shell still expects a command.
constexpr auto kBeforeCommands =
    "! { if then else elif do while until env exec command eval builtin sudo doas time nice ionice "
    "nohup setsid xargs"sv;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string_view FirstWord(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t"));
}

std::string_view AfterFirstWord(std::string_view text) {
  return TrimLine(text.substr(FirstWord(text).size()));
}

bool IsOneOf(std::string_view words, std::string_view word) {
  return AnyWord(words, [&](auto each) { return each == word; });
}

// An odd number of backslashes at the end joins a line to the next, even in a comment.
bool Continues(std::string_view line) {
  const size_t last = line.find_last_not_of('\\');
  return (line.size() - (last == line.npos ? 0 : last + 1)) % 2 == 1;
}

struct Logical {
  std::string text;  // with the backslashes and line ends that a recipe keeps
  bool joined = false;
};

std::vector<Logical> LogicalLines(std::string_view text) {
  std::vector<Logical> logical;
  bool more = false;
  ForEachLine(text, [&](std::string_view line) {
    if (more) {
      logical.back().text.append("\n").append(line);
      logical.back().joined = true;
    } else {
      logical.push_back({std::string(line)});
    }
    more = Continues(line);
  });
  return logical;
}

// As make reads it outside recipes: a blank where lines were joined.
std::string Plain(const Logical& line) {
  if (!line.joined) return line.text;
  std::string out;
  for (const std::string_view each : Lines(line.text)) {
    const bool first = out.empty();
    std::string_view part = each;
    if (part.ends_with('\\')) part.remove_suffix(1);
    if (!first) out.push_back(' ');
    out.append(first ? part : TrimLine(part));
  }
  return out;
}

// The variables in command position: `$(TOOL) x && A=1 $(OTHER) y`.
class CommandVariables {
 public:
  CommandVariables(std::string_view text, std::set<std::string>& names)
      : text_(text), names_(names) {}

  void Collect(bool expects) {
    expects_ = expects;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '$') {
        Reference();
      } else if (";|&`(\n"sv.find(c) != std::string_view::npos) {
        expects_ = true;
        ++at_;
      } else if (expects_ && " \t@-+\\\"'"sv.find(c) == std::string_view::npos) {
        Word();
      } else {
        ++at_;
      }
    }
  }

 private:
  void Reference() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("$(shell") || rest.starts_with("${shell")) {
      expects_ = true;
      at_ += "$(shell"sv.size();
      return;
    }
    const bool bracket = rest.size() > 1 && (rest[1] == '(' || rest[1] == '{');
    size_t end = bracket ? 2 : 1;
    if (bracket)
      while (end < rest.size() && IsNameCharacter(rest[end])) ++end;
    else
      end = std::min<size_t>(rest.size(), 2);
    const std::string name = Lowered(rest.substr(bracket ? 2 : 1, end - (bracket ? 2 : 1)));
    at_ += end;
    if (bracket && at_ < text_.size() && (text_[at_] == ')' || text_[at_] == '}')) ++at_;
    if (!expects_ || name == "$") {
      expects_ = false;
      return;
    }
    names_.insert(name);
    // `$(Q)$(CC)`, `$Q $(CC)`: a variable for quiet output precedes the command.
    expects_ = name.size() == 1 || text_.substr(at_).starts_with('$');
  }

  void Word() {
    size_t end = at_;
    int depth = 0;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (depth == 0 && " \t\n;|&`)"sv.find(c) != std::string_view::npos) break;
      depth += c == '(' || c == '{' ? 1 : 0;
      depth -= c == ')' || c == '}' ? 1 : 0;
    }
    const std::string_view word = text_.substr(at_, end - at_);
    const size_t equals = word.find('=');
    const bool assigns = equals != word.npos && equals > 0 &&
                         std::ranges::all_of(word.substr(0, equals), IsNameCharacter);
    expects_ = assigns || IsOneOf(kBeforeCommands, word);
    at_ = assigns ? end : at_ + std::max<size_t>(std::min(word.find('$'), word.size()), 1);
  }

  std::string_view text_;
  std::set<std::string>& names_;
  size_t at_ = 0;
  bool expects_ = false;
};

void CollectCommandVariables(std::string_view text, bool expects, std::set<std::string>& names) {
  CommandVariables(text, names).Collect(expects);
}

std::string_view WithoutModifiers(std::string_view line) {
  while (IsOneOf("export override private unexport", FirstWord(line))) line = AfterFirstWord(line);
  return line;
}

struct Assignment {
  std::string name;  // lower case; "*" for parts that only make can compute
  std::string_view value;
  bool shell = false;  // !=
};

// `obj-$(CONFIG_X)` -> "obj-*"
std::optional<std::string> NamePattern(std::string_view name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '$') {
      if (!IsNameCharacter(name[i])) return std::nullopt;
      pattern.push_back(name[i]);
      continue;
    }
    pattern.push_back('*');
    if (++i >= name.size() || (name[i] != '(' && name[i] != '{')) continue;
    int depth = 0;
    for (; i < name.size(); ++i) {
      depth += name[i] == '(' || name[i] == '{' ? 1 : 0;
      depth -= name[i] == ')' || name[i] == '}' ? 1 : 0;
      if (depth == 0) break;
    }
  }
  return Lowered(pattern);
}

std::optional<Assignment> AssignmentOf(std::string_view line) {
  line = WithoutModifiers(line);
  const size_t equals = line.find('=');
  if (equals == line.npos) return std::nullopt;
  std::string_view name = line.substr(0, equals);
  bool shell = false;
  while (!name.empty() && "+:?!"sv.find(name.back()) != name.npos) {
    shell = shell || name.back() == '!';
    name.remove_suffix(1);
  }
  name = TrimLine(name);
  // `target: VARIABLE = value` applies to the target.
  if (const size_t colon = name.rfind(':'); colon != name.npos)
    name = TrimLine(name.substr(colon + 1));
  name = WithoutModifiers(name);
  std::optional<std::string> pattern = NamePattern(name);
  if (!pattern || pattern->empty()) return std::nullopt;
  return Assignment{std::move(*pattern), TrimLine(line.substr(equals + 1)), shell};
}

// `@echo 'make test   runs the tests'`
bool OnlySays(std::string_view recipe) {
  while (recipe.starts_with('@') || recipe.starts_with('-')) recipe.remove_prefix(1);
  return recipe.starts_with("echo ") && recipe.find_first_of("$`;|&<>\\\"(") == recipe.npos;
}

bool RunsInMake(std::string_view text) {
  for (const std::string_view call :
       {"$(shell"sv, "${shell"sv, "$(eval"sv, "${eval"sv, "$(file"sv, "${file"sv, "$(guile"sv,
        "${guile"sv, "$(load"sv, "$(call"sv, "${call"sv, "$$("sv, "$$$"sv, "`"sv})
    if (text.find(call) != text.npos) return true;
  return false;
}

bool Loads(std::string_view value) {
  if (AnyWord(kLoadingOptions, [&](auto each) { return value.find(each) != value.npos; }))
    return true;
  std::string spaced(value);
  std::ranges::replace(spaced, '\t', ' ');
  // -B: where the compiler finds its parts; @: a file with more options.
  return AnyWord(spaced, [](auto word) { return word.starts_with("-B") || word.starts_with('@'); });
}

// `SHELL := /bin/bash`: such a shell knows '#' comments.
bool SetsAShell(const Logical& line) {
  const std::string plain = Plain(line);
  const auto assignment = AssignmentOf(TrimLine(plain));
  return assignment && assignment->name == "shell" &&
         (assignment->value == "/usr/bin/env bash" ||
          IsOneOf("sh bash dash /bin/sh /bin/bash /bin/dash /usr/bin/bash", assignment->value));
}

class Makefile {
 public:
  Makefile(std::vector<Logical> lines, std::string_view commands) : lines_(std::move(lines)) {
    AnyWord(commands, [&](auto name) {
      command_variables_.emplace(name);
      return false;
    });
    FindCommandVariables();
    for (const Logical& line : lines_) {
      // Another recipe prefix, or another shell: '#' may then start a command.
      all_recipe_ = all_recipe_ || line.text.find("RECIPEPREFIX") != line.text.npos;
      own_shell_ = own_shell_ || (line.text.find("SHELL") != line.text.npos && !SetsAShell(line));
    }
  }

  Parts Read() {
    for (const Logical& line : lines_) Take(line);
    return std::move(parts_);
  }
  MakeUses Uses() const {
    MakeUses uses{{command_variables_.begin(), command_variables_.end()}, {}};
    for (const Logical& line : lines_) {
      const std::string plain = Plain(line);
      const std::string_view text = TrimLine(plain);
      if (IsOneOf("include -include sinclude", FirstWord(text)))
        uses.includes.emplace_back(AfterFirstWord(text));
    }
    return uses;
  }

 private:
  void FindCommandVariables() {
    std::multimap<std::string, std::string> values;
    bool within = false;  // in a define
    for (const Logical& line : lines_) {
      const std::string plain = Plain(line);
      const std::string_view text = TrimLine(plain);
      const std::string_view word = FirstWord(WithoutModifiers(text));
      if (word == "endef") within = false;
      const bool recipe = line.text.starts_with('\t') || within;
      if (word == "define") within = true;
      CollectCommandVariables(line.text, recipe, command_variables_);
      if (recipe) continue;
      if (auto assignment = AssignmentOf(text))
        values.emplace(std::move(assignment->name), assignment->value);
    }
    // The first word of such a variable's value is a command, too.
    std::vector<std::string> fresh(command_variables_.begin(), command_variables_.end());
    while (!fresh.empty()) {
      const auto [first, end] = values.equal_range(fresh.back());
      fresh.pop_back();
      std::set<std::string> found;
      for (auto each = first; each != end; ++each)
        CollectCommandVariables(each->second, true, found);
      for (const std::string& name : found)
        if (command_variables_.insert(name).second) fresh.push_back(name);
    }
  }

  void Take(const Logical& line) {
    const std::string_view whole = TrimLine(line.text);
    if (whole.empty() && defines_ == 0) return;
    if (defines_ > 0) {
      FollowDefine(line);
      Command(whole, "define");
    } else if (all_recipe_) {
      Command(whole, "anything");
    } else if (line.text.starts_with('\t')) {
      Recipe(line, whole);
    } else {
      Statement(Plain(line), whole);
    }
  }

  void FollowDefine(const Logical& line) {
    if (line.text.starts_with('\t')) return;
    const std::string plain = Plain(line);
    const std::string_view word = FirstWord(TrimLine(plain));
    if (word == "define") ++defines_;
    if (word == "endef" || word.starts_with("endef#")) --defines_;
  }

  void Recipe(const Logical& line, std::string_view whole) {
    // A shell comment ends with its line, even if make continues it, and make expands it first.
    const bool comment =
        whole.starts_with('#') && !line.joined && !own_shell_ && whole.find('$') == whole.npos;
    if (comment) return;
    // Without a target before it, this is not a recipe; then its definitions cannot be tracked.
    if (WithoutModifiers(whole).starts_with("define")) all_recipe_ = true;
    if (OnlySays(whole))
      parts_.data.push_back({std::string(whole)});
    else
      Command(whole, "recipe");
  }

  void Statement(const std::string& plain, std::string_view whole) {
    const std::string_view text = TrimLine(plain);
    if (text.starts_with('#')) return;
    const std::string_view word = FirstWord(WithoutModifiers(text));
    if (word == "define") ++defines_;
    if (RunsInMake(text) || IsOneOf("include -include sinclude load -load define .ONESHELL:", word))
      return Command(whole, "statement");
    // `target: prerequisite ; recipe`, and characters that a shell acts on if a list becomes part
    // of a recipe.
    if (text.find(';') != text.npos) return Command(whole, "statement");
    if (const auto assignment = AssignmentOf(text)) {
      const auto matches = [&](std::string_view name) {
        return StarMatches(assignment->name, name);
      };
      const bool computed = assignment->name.find('*') != std::string::npos;
      if (computed) looked_ += assignment->name.size() * (command_variables_.size() + 1);
      const bool steers = AnyWord(kEnvironment, [&](std::string_view pattern) {
        return StarMatches(pattern, assignment->name);
      });
      const bool names_tool = looked_ > kMostLooks || steers || AnyWord(kToolVariables, matches) ||
                              (computed ? std::ranges::any_of(command_variables_, matches)
                                        : command_variables_.contains(assignment->name));
      // Characters that a list of files does not contain, but a shell acts on if the list becomes
      // part of a recipe.
      if (names_tool || assignment->shell || Loads(assignment->value) ||
          assignment->value.find_first_of("|&<>") != std::string_view::npos)
        return Command(whole, "statement");
    }
    parts_.data.push_back({std::string(whole)});
  }

  // The same line in another place is another command.
  void Command(std::string_view whole, std::string_view place) {
    const std::string shown(whole.empty() ? "(an empty line)" : whole);
    parts_.data.push_back({std::string(whole), shown});
    parts_.commands.push_back({std::string(place) + "\n" + std::string(whole), shown});
  }

  std::vector<Logical> lines_;
  std::set<std::string> command_variables_;
  size_t defines_ = 0;  // open nested defines; their lines can be used for anything
  // Beyond this, computed names are no longer compared with others; they count as matching.
  static constexpr size_t kMostLooks = 20'000'000;
  size_t looked_ = 0;
  bool all_recipe_ = false;
  bool own_shell_ = false;
  Parts parts_;
};

}  // namespace

Parts MakeParts(std::string_view text, std::string_view commands) {
  return Makefile(LogicalLines(text), commands).Read();
}

MakeUses MakeUsesOf(std::string_view text) { return Makefile(LogicalLines(text), {}).Uses(); }

// Rules without recipes, as compilers write them. D source files have the same extension.
Parts DependencyParts(std::string_view text) {
  const bool is_source = text.starts_with("module ") || text.starts_with("import ") ||
                         text.find("\nmodule ") != text.npos || text.find("\nimport ") != text.npos;
  if (!is_source) return MakeParts(text);
  Parts parts;
  ForEachLine(text, [&](std::string_view line) {
    // make would run these before it finds out that the file is not a makefile.
    const bool runs = line.find("$(") != line.npos || line.find("${") != line.npos;
    (runs ? parts.commands : parts.data).push_back({std::string(line)});
  });
  return parts;
}

// just does not continue comments, and a recipe's first line decides how its lines run.
Parts JustParts(std::string_view text) {
  Parts parts;
  ForEachLine(text, [&](std::string_view line) {
    const std::string_view trimmed = TrimLine(line);
    if (trimmed.empty() || line.starts_with('#')) return;
    const Part part{std::string(trimmed)};
    parts.data.push_back(part);
    const bool indented = line.starts_with(' ') || line.starts_with('\t');
    const bool plain = !trimmed.starts_with('#') && OnlySays(trimmed);
    if ((indented && !plain) || RunsInMake(trimmed) || trimmed.find("shell(") != trimmed.npos ||
        trimmed.find("env(") != trimmed.npos || trimmed.find('\\') != trimmed.npos ||
        IsOneOf("set import import? mod mod? export", FirstWord(trimmed)) ||
        trimmed.find_first_of(";|&<>`") != trimmed.npos)
      parts.commands.push_back(part);
  });
  return parts;
}

}  // namespace cloche::rules
