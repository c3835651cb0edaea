#include "promoter/named.h"

#include <algorithm>
#include <filesystem>

#include "promote/glob.h"

namespace cloche::promoter {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMostNamed = 100'000;

// The words of a command, and what stands between quotes as a whole, too. A variable ends a word:
// what follows it is a path below something.
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

void Named::Add(const std::string& path, const As& as) {
  if (files_.size() >= kMostNamed) return;
  std::vector<As>& known = files_[Clean(path)];
  if (std::ranges::none_of(known, [&](const As& each) { return each.id == as.id; }))
    known.push_back(as);
}

void Named::AddCommand(std::string_view command, const std::string& directory,
                       const std::string& home, const As& as) {
  for (const std::string& word : WordsOf(command)) {
    if (word.starts_with('/')) Add(word, as);
    if (word.starts_with("~/")) Add(home + word.substr(1), as);
    // A command may change the directory, and a variable may stand before the path.
    std::string below = Clean(word);
    while (below.starts_with("../")) below.erase(0, 3);
    while (below.starts_with('/')) below.erase(0, 1);
    if (below.empty() || below == "." || below == "..") continue;
    Add(directory + "/" + below, as);
    // node finds these by the name without its end.
    for (const char* ending : {".js", ".cjs", ".mjs", "/index.js"})
      Add(directory + "/" + below + ending, as);
  }
}

const std::vector<Named::As>& Named::Of(const std::string& path) const {
  static const std::vector<As> kNothing;
  const auto found = files_.find(path);
  return found == files_.end() ? kNothing : found->second;
}

bool IsProgramOfGit(std::string_view key, std::string_view value) {
  if (promote::StarMatches("alias.*", key)) return value.starts_with('!') || value.starts_with('-');
  return promote::AnyWord(
      "core.fsmonitor core.sshcommand core.pager core.editor core.askpass core.gitproxy "
      "core.alternaterefscommand sequence.editor gpg*.program gpg*.defaultkeycommand "
      "credential.* *.textconv diff.external diff.*.command merge.*.driver filter.* pager.* "
      "interactive.difffilter *.cmd difftool.*.path mergetool.*.path man.*.path browser.*.path "
      "sendemail.* tar.*.command trailer.*.command uploadpack.packobjectshook submodule.*.update "
      "hook.*.command remote.*.uploadpack remote.*.receivepack gc.recentobjectshook imap.tunnel "
      "web.browser instaweb.* lfs.* svn.authorsprog",
      [&](auto pattern) { return promote::StarMatches(pattern, key); });
}

}  // namespace cloche::promoter
