#include "change/apply/named_files.h"

#include <algorithm>
#include <filesystem>

#include "change/rules/glob.h"
#include "change/rules/key_values.h"
#include "change/rules/triggers.h"

namespace cloche::apply {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMostNamed = 100'000;
constexpr size_t kMostGlobs = 1000;

// The words of a command, and each quoted string as a whole, too. A variable ends a word: what
// follows is a path below its value.
std::vector<std::string> WordsOf(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '$') {
      flush();
      if (i + 1 < command.size() && command[i + 1] == '{')
        i = std::min(command.find('}', i), command.size());
      else
        while (i + 1 < command.size() &&
               (isalnum(static_cast<unsigned char>(command[i + 1])) != 0 || command[i + 1] == '_'))
          ++i;
    } else if (" \t\r\n;|&<>()`\"'=,![]{}"sv.find(c) != std::string_view::npos) {
      flush();
    } else if (c == '\\') {
      if (i + 1 < command.size()) word.push_back(command[++i]);
    } else {
      word.push_back(c);
    }
  }
  flush();
  for (const char quote : {'"', '\''})
    for (size_t at = command.find(quote); at != command.npos;) {
      const size_t end = command.find(quote, at + 1);
      if (end == command.npos) break;
      words.emplace_back(command.substr(at + 1, end - at - 1));
      at = command.find(quote, end + 1);
    }
  return words;
}

std::string Clean(const std::string& path) {
  std::string clean = std::filesystem::path(path).lexically_normal();
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  return clean;
}

}  // namespace

void NamedFiles::Add(const std::string& path, const As& as) {
  if (files_.size() >= kMostNamed) return;
  std::vector<As>& known = files_[Clean(path)];
  if (std::ranges::none_of(known, [&](const As& each) { return each.id == as.id; }))
    known.push_back(as);
}

void NamedFiles::AddCommand(std::string_view command, const std::string& directory,
                            const std::string& home, const As& as) {
  for (const std::string& word : WordsOf(command)) {
    if (word.starts_with('/')) Add(word, as);
    if (word.starts_with("~/")) Add(home + word.substr(1), as);
    // A command may change directory, and a variable may precede the path.
    std::string below = Clean(word);
    while (below.starts_with("../")) below.erase(0, 3);
    while (below.starts_with('/')) below.erase(0, 1);
    if (below.empty() || below == "." || below == "..") continue;
    if (below.find_first_of("*?") != below.npos && globs_.size() < kMostGlobs)
      globs_.emplace_back(directory + "/" + below, as);
    Add(directory + "/" + below, as);
    // node finds these without the extension; make builds `a` from `a.sh`.
    for (const char* ending : {".js", ".cjs", ".mjs", "/index.js", ".sh"})
      Add(directory + "/" + below + ending, as);
  }
}

std::vector<NamedFiles::As> NamedFiles::Of(const std::string& path) const {
  std::vector<As> as;
  if (const auto found = files_.find(path); found != files_.end()) as = found->second;
  for (const auto& [glob, each] : globs_)
    if (rules::GlobMatches(glob, path)) as.push_back(each);
  return as;
}

// For each such file, the keys whose values run without being asked for by name.
struct Naming {
  std::string_view glob;  // matches its path
  rules::Format format;
  std::string_view keys;
  std::string_view id = "named-script";
};

constexpr Naming kNaming[] = {
    {"**/package.json", rules::Format::kJson,
     "scripts.*install scripts.*prepare scripts.prepublish scripts.prepack scripts.postpack"},
    {"**/.claude/settings*.json", rules::Format::kJson, "hooks* statusline* apikeyhelper"},
    {"**/.cursor/hooks.json", rules::Format::kJson, "*command*"},
    {"**/.codex/hooks.json", rules::Format::kJson, "*command*"},
    {"**/.gemini/settings.json", rules::Format::kJson, "hooks* *command* *args*"},
    {"**/.mcp.json", rules::Format::kJson, "*command* *args*"},
    {"**/.vscode/mcp.json", rules::Format::kJson, "*command* *args*"},
    {"**/.cursor/mcp.json", rules::Format::kJson, "*command* *args*"},
    {"**/.vscode/tasks.json", rules::Format::kJson, "*command* *args*"},
    {"**/.vscode/settings.json", rules::Format::kJson, "*path *command* *executable*"},
    {"**/devcontainer.json", rules::Format::kJson, "*command*"},
    {"**/composer.json", rules::Format::kJson, "scripts.*install* scripts.*autoload*"},
    {"**/.pre-commit-config.yaml", rules::Format::kYaml, "*entry *args*"},
    {"**/.pre-commit-hooks.yaml", rules::Format::kYaml, "*entry *args*"},
    {"**/lefthook.yml", rules::Format::kYaml, "*run *script*"},
    {"**/.lefthook.yml", rules::Format::kYaml, "*run *script*"},
    {"**/.lintstagedrc*", rules::Format::kJson, "*"},
    {"**/.gitlab-ci.yml", rules::Format::kYaml, "include*", "ci-gitlab"},
    {"**/.envrc", rules::Format::kNone, ""},
    {"**/.husky/*", rules::Format::kNone, ""},
    {"**/.githooks/*", rules::Format::kNone, ""},
    {"**/.git/hooks/*", rules::Format::kNone, ""},
};

bool IsMakefile(std::string_view name) {
  return rules::AnyWord("Makefile GNUmakefile BSDmakefile Makefile.* *.mk *.mak *.make Kbuild",
                        [&](auto glob) { return rules::GlobMatches(glob, name); });
}

const Naming* NamingOf(const std::string& path) {
  const auto found = std::ranges::find_if(
      kNaming, [&](const Naming& each) { return rules::GlobMatches(each.glob, path.substr(1)); });
  return found == std::end(kNaming) ? nullptr : found;
}

bool NamesOthers(const std::string& directory, std::string_view name) {
  if (name.ends_with(".sample")) return false;
  return IsMakefile(name) || NamingOf(directory + "/" + std::string(name)) != nullptr;
}

std::vector<std::string> NamedFiles::AddFrom(const std::string& directory, const std::string& name,
                                             std::string_view text,
                                             const std::vector<std::string>& below,
                                             const std::string& home) {
  const std::string path = directory + "/" + name;
  if (IsMakefile(name)) {
    rules::MakeUses uses = rules::MakeUsesOf(text);
    for (const std::string& included : uses.includes)
      for (const std::string& each : below)
        AddCommand(included, each, home, {"make", "make reads it: " + path + " includes it"});
    return std::move(uses.commands);
  }
  const Naming* naming = NamingOf(path);
  if (naming == nullptr) return {};
  const As as{std::string(naming->id), "it runs by itself: " + path + " names it"};
  const auto add = [&](std::string_view command) {
    for (const std::string& each : below) AddCommand(command, each, home, as);
  };
  if (naming->format == rules::Format::kNone) {
    add(text);
    return {};
  }
  const auto values = rules::ReadKeyValues(naming->format, text);
  // If it cannot be parsed, any word in it may be a name.
  if (!values) add(text);
  if (!values) return {};
  for (const rules::KeyValue& each : *values)
    if (rules::AnyWord(naming->keys, [&](std::string_view pattern) {
          const std::string key = rules::ShownKey(each.key);
          return rules::StarMatches(pattern, key) ||
                 rules::StarMatches(std::string(pattern) + "[]*", key);
        }))
      add(each.value);
  return {};
}

bool IsProgramOfGit(std::string_view key, std::string_view value) {
  if (rules::StarMatches("alias.*", key)) return value.starts_with('!') || value.starts_with('-');
  return rules::AnyWord(
      "core.fsmonitor core.sshcommand core.pager core.editor core.askpass core.gitproxy "
      "core.alternaterefscommand sequence.editor gpg*.program gpg*.defaultkeycommand "
      "credential.* *.textconv diff.external diff.*.command merge.*.driver filter.* pager.* "
      "interactive.difffilter *.cmd difftool.*.path mergetool.*.path man.*.path browser.*.path "
      "sendemail.* tar.*.command trailer.*.command uploadpack.packobjectshook submodule.*.update "
      "hook.*.command remote.*.uploadpack remote.*.receivepack gc.recentobjectshook imap.tunnel "
      "web.browser instaweb.* lfs.* svn.authorsprog",
      [&](auto pattern) { return rules::StarMatches(pattern, key); });
}

}  // namespace cloche::apply
