#include "change/rules/triggers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "change/rules/glob.h"
#include "change/rules/judges.h"
#include "change/rules/key_values.h"

namespace cloche::rules {
namespace {

using change::FileType;
using namespace std::string_view_literals;

// A path relative to each root that contains it.
struct Location {
  std::string_view absolute;
  std::string_view in_project;  // "" = not in it
  std::string_view in_home;
  std::string_view nearest;  // relative to the project, else the home, else "/"
  std::string_view name;
};

std::string_view Below(std::string_view path, std::string_view root) {
  if (root.empty() || root == "/" || !path.starts_with(root)) return {};
  path.remove_prefix(root.size());
  return path.starts_with('/') ? path.substr(1) : std::string_view();
}

Location Locate(std::string_view path, const Roots& roots) {
  Location at{.absolute = path,
              .in_project = Below(path, roots.project),
              .in_home = Below(path, roots.home),
              .name = path.substr(path.rfind('/') + 1)};
  at.nearest = !at.in_project.empty() ? at.in_project
               : !at.in_home.empty()  ? at.in_home
                                      : path.substr(path.starts_with('/') ? 1 : 0);
  return at;
}

// A glob of the table, with quick checks that rule out most paths.
struct Pattern {
  PathGlob glob;
  enum { kNearest, kHome, kRoot } place = kNearest;
  bool takes_away = false;
  char first = 0;  // lower case; 0 = anything
  char last = 0;
  std::vector<PathGlob> parents;  // match directories above a match
};

struct Rule {
  const TriggerClass* trigger = nullptr;
  std::vector<Pattern> patterns;
};

// A directory that only "**" names may be any directory.
std::vector<PathGlob> ParentsOf(std::string_view glob) {
  std::vector<PathGlob> parents;
  bool named = false;
  for (size_t at = 0; at < glob.size();) {
    const size_t end = std::min(glob.find('/', at), glob.size());
    if (end == glob.size()) break;
    named = named || glob.substr(at, end - at) != "**";
    if (named) parents.emplace_back(glob.substr(0, end));
    at = end + 1;
  }
  return parents;
}

Pattern PatternOf(std::string_view glob) {
  const bool takes_away = glob.starts_with('!');
  if (takes_away) glob.remove_prefix(1);
  auto place = Pattern::kNearest;
  if (glob.starts_with("~/")) {
    place = Pattern::kHome;
    glob.remove_prefix(2);
  } else if (glob.starts_with('/')) {
    place = Pattern::kRoot;
    glob.remove_prefix(1);
  }
  const auto letter = [](char c) { return c == '*' || c == '?' ? char{0} : Lower(c); };
  Pattern pattern{.glob = PathGlob(glob), .place = place, .takes_away = takes_away};
  pattern.first = letter(glob.front());
  pattern.last = letter(glob.back());
  if (!pattern.takes_away) pattern.parents = ParentsOf(glob);
  return pattern;
}

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> made;
    for (const TriggerClass& each : TriggerTable()) {
      Rule& rule = made.emplace_back(Rule{.trigger = &each});
      AnyWord(each.globs, [&](std::string_view glob) {
        rule.patterns.push_back(PatternOf(glob));
        return false;
      });
    }
    return made;
  }();
  return rules;
}

std::string_view PathFor(const Pattern& pattern, const Location& at) {
  return pattern.place == Pattern::kHome   ? at.in_home
         : pattern.place == Pattern::kRoot ? at.absolute.substr(1)
                                           : at.nearest;
}

bool PatternHolds(const Pattern& pattern, const Location& at) {
  const std::string_view path = PathFor(pattern, at);
  if (path.empty()) return false;
  if (pattern.last != 0 && pattern.last != Lower(path.back())) return false;
  if (pattern.first != 0 && pattern.first != Lower(path.front())) return false;
  return pattern.glob.Matches(path);
}

bool RuleHolds(const Rule& rule, const Location& at) {
  bool holds = false;
  for (const Pattern& pattern : rule.patterns)
    if (pattern.takes_away == holds && PatternHolds(pattern, at)) holds = !holds;
  return holds;
}

// The glob that files below `at` would match; "" = none.
std::string_view GlobBelow(const Rule& rule, const Location& at) {
  for (const Pattern& pattern : rule.patterns) {
    const std::string_view path = PathFor(pattern, at);
    if (path.empty()) continue;
    for (const PathGlob& parent : pattern.parents)
      if (parent.Matches(path)) return pattern.glob.text();
  }
  return {};
}

bool IsProse(std::string_view name) {
  const std::string lower = Lowered(name);
  return AnyWord(".md .markdown .txt .rst .adoc .html .po .pot .xliff .srt .tex .org .csv .strings",
                 [&](auto ending) { return lower.ends_with(ending); });
}

std::string LinkText(const Version& version) {
  return "a link to " + std::string(version.content.value_or("(unread)"));
}

bool IsExecutable(const Version& version) {
  return version.type == FileType::kFile && (version.mode & 0111) != 0;
}

bool IsBinaryProgram(std::string_view content) {
  return content.starts_with(
             "\x7f"
             "ELF") ||
         content.starts_with("MZ") || content.starts_with("\xcf\xfa\xed\xfe") ||
         content.starts_with("\xca\xfe\xba\xbe") || content.starts_with("!<arch>") ||
         content.substr(0, 8000).find('\0') != content.npos;
}

// If this directory is in PATH, a shell may find this name here instead of the real command.
bool NamesACommand(std::string_view name) {
  return AnyWord(
      "awk bash bun cargo cat cc chmod clang cmake composer cp curl cut deno docker env find g++ "
      "gcc "
      "gem gh git go gpg gradle grep head java javac kubectl less ln ls make mkdir mv mvn ninja "
      "node "
      "npm npx perl php pip pip3 pnpm ps pwd python python2 python3 rm ruby rustc rustup scp sed "
      "sh "
      "sort ssh su sudo tail tar tee terraform touch uv vim wget which xargs yarn zsh",
      [&](auto command) { return command == name; });
}

Judgement JudgeExecutable(const Location& at, const FileChange& change) {
  Judgement verdict;
  const Version& after = *change.after;
  if (after.type != FileType::kFile) return verdict;
  const bool was = change.before && IsExecutable(*change.before);
  if ((after.mode & 06000) != 0 && (!change.before || (change.before->mode & 06000) == 0))
    verdict.alarms.emplace_back("runs with the rights of its owner or group (setuid, setgid)");
  if (!IsExecutable(after)) return verdict;
  const bool binary = after.content && IsBinaryProgram(*after.content);
  if (!change.same_content && binary)
    verdict.alarms.emplace_back(was ? "another program" : "a new program, not readable as text");
  else if (!change.same_content && !after.content)
    verdict.alarms.emplace_back("an executable file that was not read");
  if (!was && NamesACommand(at.name))
    verdict.alarms.emplace_back("has the name of a common command");
  if (!verdict.alarms.empty()) return verdict;
  if (!was) {
    const bool script = after.content && after.content->starts_with("#!");
    verdict.notices.emplace_back(script          ? "a script that may be executed"
                                 : change.before ? "may be executed now"
                                                 : "a new file that may be executed");
    return verdict;
  }
  // Another interpreter for the same script.
  if (!after.content || !change.before->content) return verdict;
  const auto first_line = [](std::string_view text) {
    return text.starts_with("#!") ? text.substr(0, text.find('\n')) : std::string_view();
  };
  const std::string_view now = first_line(*after.content);
  if (now != first_line(*change.before->content))
    verdict.alarms.push_back("interpreter " + std::string(now.empty() ? "(none)" : now));
  return verdict;
}

Judgement JudgeUnseen(const Location& at, const FileChange& change) {
  Judgement verdict;
  if (!change.before) {
    if (NameDisguises(at.nearest))
      verdict.alarms.emplace_back("some file systems take this name for .git");
    else if (NameDeceives(at.nearest))
      verdict.alarms.emplace_back("unseen characters in the name");
  }
  if (!change.after->content || change.after->type != FileType::kFile || change.same_content)
    return verdict;
  const std::string_view now = *change.after->content;
  const auto then = change.before ? change.before->content : std::nullopt;
  const auto nuls = std::ranges::count(now.substr(0, 8000), '\0');
  // Compilers ignore NUL bytes, but they make a text look binary, so it would not be examined.
  if (nuls > 0 && then && !then->empty() && then->find('\0') == then->npos)
    verdict.alarms.emplace_back("NUL bytes in what was text");
  constexpr int kStray = 8;
  if (nuls > kStray) return verdict;
  // Agents read instructions, and see what people do not.
  const bool prose = IsProse(at.name) && !Lowered(at.nearest).ends_with("agents.md") &&
                     !Lowered(at.nearest).ends_with("claude.md");
  std::ranges::move(UnseenLines(then, now, prose), std::back_inserter(verdict.alarms));
  return verdict;
}

// Recognizes a HEAD as git does (setup.c, is_git_directory; refs.c): a link counts by its target,
// and text after the name of a branch or commit is ignored.
bool MakesARepository(const Version& head) {
  if (!head.content) return true;  // not examined
  std::string_view text = *head.content;
  if (head.type == FileType::kSymlink) return text.starts_with("refs/");
  if (head.type != FileType::kFile) return false;
  if (text.starts_with("ref:")) {
    text.remove_prefix(4);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
    return text.starts_with("refs/");
  }
  constexpr size_t kShortest = 40;  // digits of a SHA-1 name
  return text.size() >= kShortest &&
         text.substr(0, kShortest).find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

Judgement JudgeGitLink(const Location& at, const FileChange& change) {
  Judgement verdict;
  const Version& after = *change.after;
  if (change.same_content) return verdict;
  if (at.name == ".git") {
    if (after.type != FileType::kDirectory)
      verdict.alarms.push_back(after.type == FileType::kSymlink
                                   ? LinkText(after)
                                   : std::string(after.content.value_or("(unread)")));
    else if (!change.before && at.nearest != ".git")
      verdict.alarms.emplace_back("a repository within the project");
    return verdict;
  }
  // A HEAD makes a directory a repository, whether it is called .git or not.
  const bool own = at.nearest == ".git/HEAD" ||
                   AnyWord(
                       "**/.git/refs/remotes/*/HEAD **/.git/logs/** **/.git/modules/** "
                       "**/.git/worktrees/**",
                       [&](auto glob) { return GlobMatches(glob, at.nearest); });
  if (own || !MakesARepository(after) || (change.before && MakesARepository(*change.before)))
    return verdict;
  verdict.alarms.emplace_back("a repository of its own, with its own hooks and settings");
  return verdict;
}

// Replaced objects are read instead of others; other refs change every day.
std::optional<Judgement> JudgePackedRefs(const FileChange& change) {
  const auto replaced = [](std::string_view text) {
    std::vector<Part> parts;
    ForEachLine(text, [&](std::string_view line) {
      if (line.find("refs/replace/") != line.npos) parts.push_back({std::string(line)});
    });
    return parts;
  };
  const auto then = change.before ? change.before->content : std::nullopt;
  Judgement verdict{More(replaced(*change.after->content), replaced(then.value_or(""))), {}};
  if (verdict.alarms.empty()) return std::nullopt;
  return verdict;
}

Judgement JudgeDeleted(const TriggerClass& rule) {
  if (rule.judge == Judge::kExecutable || rule.judge == Judge::kUnseen ||
      rule.judge == Judge::kGitLink)
    return {};
  return {{}, {"deleted"}};
}

// A file that may hold a repository's settings: whether a HEAD is beside it is unknown here.
bool IsAnyConfig(const Location& at) {
  return Lowered(at.name).starts_with("config") && !GlobMatches("**/*.git/**", at.nearest) &&
         !at.absolute.ends_with("/git/config");
}

// If git refuses to read it, it has no effect.
std::optional<Judgement> JudgeAnyConfig(const TriggerClass& rule, const Location& at,
                                        const FileChange& change) {
  const std::string_view after = *change.after->content;
  auto before = change.before ? change.before->content : std::nullopt;
  if (!ReadGitConfig(after)) return std::nullopt;
  if (before && !ReadGitConfig(*before)) before.reset();
  Judgement verdict = JudgeContent(rule, at.name, before, after);
  if (verdict.alarms.empty()) return std::nullopt;
  return verdict;
}

bool SetsUpAPackage(std::string_view text) {
  return AnyWord("setuptools distutils setup( Cython skbuild cffi numpy",
                 [&](auto word) { return text.find(word) != text.npos; });
}

std::optional<Judgement> JudgeChange(const TriggerClass& rule, const Location& at,
                                     const FileChange& change) {
  if (!change.after) {
    if (rule.id == "git-config" && IsAnyConfig(at)) return std::nullopt;
    Judgement deleted = JudgeDeleted(rule);
    if (deleted.notices.empty()) return std::nullopt;
    const bool was_file = change.before->type == FileType::kFile && change.before->content;
    if (was_file) deleted.alarms = GuardsOf(rule, *change.before->content);
    return deleted;
  }
  const Version& after = *change.after;
  const auto unless_empty = [](Judgement verdict) -> std::optional<Judgement> {
    if (verdict.alarms.empty() && verdict.notices.empty()) return std::nullopt;
    return verdict;
  };
  // These examine every file and say nothing about most.
  if (rule.judge == Judge::kExecutable) return unless_empty(JudgeExecutable(at, change));
  if (rule.judge == Judge::kUnseen) return unless_empty(JudgeUnseen(at, change));
  if (rule.judge == Judge::kGitLink) return unless_empty(JudgeGitLink(at, change));
  if (after.type == FileType::kDirectory) return std::nullopt;
  if (after.type == FileType::kSymlink) {
    if (rule.judge == Judge::kNotice) return Judgement{{}, {LinkText(after)}};
    return Judgement{{LinkText(after)}, {}};
  }
  if (after.type != FileType::kFile) return Judgement{{"neither file nor link"}, {}};
  if (rule.judge == Judge::kBinDirectory) {
    if (!IsExecutable(after)) return Judgement{{}, {"not executable"}};
    if (change.same_content && change.before && IsExecutable(*change.before)) return Judgement{};
    return Judgement{{change.before ? "another program of this name" : "a new command"}, {}};
  }
  if (change.same_content) {
    const bool runs_now = IsExecutable(after) && !(change.before && IsExecutable(*change.before));
    if (rule.judge == Judge::kScript && runs_now) return Judgement{{"may be executed now"}, {}};
    return Judgement{{}, {"mode only"}};
  }
  const bool unread_before =
      change.before && change.before->type == FileType::kFile &&
      (!change.before->content || change.before->content->size() > kMaxJudged);
  const bool unread = unread_before || !after.content || after.content->size() > kMaxJudged;
  if (rule.judge == Judge::kNotice) {
    if (unread) return Judgement{{}, {"not read"}};
    const auto then = change.before ? change.before->content : std::nullopt;
    return Judgement{{},
                     More(ScriptParts(*after.content, Comments::kNone).commands,
                          ScriptParts(then.value_or(""), Comments::kNone).commands)};
  }
  if (unread_before && after.content && after.content->size() <= kMaxJudged) {
    FileChange added = change;
    added.before.reset();
    Judgement verdict = JudgeChange(rule, at, added).value_or(Judgement());
    verdict.alarms.insert(verdict.alarms.begin(),
                          "what it replaces is hidden, too large or not readable: not compared");
    return verdict;
  }
  if (unread) return Judgement{{"too large or not readable: nobody looked at it"}, {}};
  if (rule.judge == Judge::kAny) {
    Judgement verdict = JudgeScript(
        ScriptParts(change.before ? change.before->content.value_or("") : "", Comments::kNone),
        ScriptParts(*after.content, Comments::kNone));
    if (verdict.alarms.empty()) verdict.alarms.emplace_back("changed");
    if (IsBinaryProgram(*after.content)) verdict.alarms = {"another binary"};
    return verdict;
  }
  if (rule.judge == Judge::kPackedRefs) return JudgePackedRefs(change);
  if (rule.id == "git-config" && IsAnyConfig(at)) return JudgeAnyConfig(rule, at, change);
  // git runs hooks only by their exact names.
  if (rule.id == "git-hooks" && at.name.ends_with(".sample")) return Judgement{{}, {"a sample"}};
  // Deep in a tree, a setup.py that never mentions packages may be anything.
  if (rule.id == "python-setup" && at.nearest.find('/') != at.nearest.npos &&
      !SetsUpAPackage(*after.content))
    return Judgement{{}, {"sets up no package"}};
  const bool was_file = change.before && change.before->type == FileType::kFile;
  return JudgeContent(rule, at.name, was_file ? change.before->content : std::nullopt,
                      *after.content, change.make_commands);
}

std::string Cut(std::string line) {
  if (line.size() <= kMaxEffectiveLine) return line;
  size_t end = kMaxEffectiveLine;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  line.resize(end);
  return line + "...";
}

Trigger TriggerOf(const TriggerClass& rule, Judgement verdict) {
  Trigger trigger{.id = rule.id, .reason = rule.reason};
  const bool alarm = !verdict.alarms.empty();
  trigger.severity = alarm ? Severity::kAlarm : Severity::kNotice;
  std::vector<std::string>& lines = alarm ? verdict.alarms : verdict.notices;
  if (lines.size() > kMaxEffective) {
    trigger.left_out = lines.size() - kMaxEffective;
    lines.resize(kMaxEffective);
  }
  for (std::string& line : lines) trigger.effective.push_back(Cut(std::move(line)));
  return trigger;
}

// A link in place of a directory gives every file behind it the name of a trigger file, without
// changing any of them. One class reports it for all.
void FindParentLink(const Location& at, const Version& link, std::vector<Trigger>& found) {
  if (std::ranges::find(found, Severity::kAlarm, &Trigger::severity) != found.end()) return;
  for (const Severity wanted : {Severity::kAlarm, Severity::kNotice})
    for (const Rule& rule : Rules()) {
      const bool notice = rule.trigger->judge == Judge::kNotice;
      if (notice != (wanted == Severity::kNotice)) continue;
      const std::string_view glob = GlobBelow(rule, at);
      if (glob.empty()) continue;
      std::vector<std::string> lines = {LinkText(link) + ", whose files become " +
                                        std::string(glob)};
      found.push_back(TriggerOf(*rule.trigger, notice ? Judgement{{}, std::move(lines)}
                                                      : Judgement{std::move(lines), {}}));
      return;
    }
}

FileChange WithSameContent(FileChange change) {
  if (!change.before || !change.after || change.before->type != change.after->type)
    change.same_content = false;
  else if (change.before->content && change.before->content == change.after->content)
    change.same_content = true;
  return change;
}

}  // namespace

std::vector<std::string> TriggerPlaces(const Roots& roots) {
  std::vector<std::string> places;
  for (const Rule& rule : Rules())
    for (const Pattern& pattern : rule.patterns) {
      if (pattern.takes_away || pattern.place == Pattern::kNearest) continue;
      if (pattern.place == Pattern::kHome && roots.home.empty()) continue;
      std::string root(pattern.place == Pattern::kHome && roots.home != "/" ? roots.home : "");
      places.push_back(std::move(root) + "/" + std::string(pattern.glob.text()));
    }
  return places;
}

std::optional<Trigger> JudgedAs(std::string_view id, const FileChange& told, const Roots& roots) {
  if (told.path.empty() || (!told.before && !told.after)) return std::nullopt;
  const FileChange change = WithSameContent(told);
  for (const Rule& rule : Rules()) {
    if (rule.trigger->id != id) continue;
    auto verdict = JudgeChange(*rule.trigger, Locate(change.path, roots), change);
    if (!verdict) return std::nullopt;
    return TriggerOf(*rule.trigger, std::move(*verdict));
  }
  return std::nullopt;
}

std::vector<Trigger> FindTriggers(const FileChange& told, const Roots& roots) {
  std::vector<Trigger> found;
  if (told.path.empty() || (!told.before && !told.after)) return found;
  const FileChange change = WithSameContent(told);
  const Location at = Locate(change.path, roots);
  for (const Rule& rule : Rules()) {
    if (!RuleHolds(rule, at)) continue;
    if (std::optional<Judgement> verdict = JudgeChange(*rule.trigger, at, change))
      found.push_back(TriggerOf(*rule.trigger, std::move(*verdict)));
  }
  const bool link = change.after && change.after->type == FileType::kSymlink;
  if (link && !change.same_content) FindParentLink(at, *change.after, found);
  std::ranges::stable_sort(found, std::ranges::greater(), &Trigger::severity);
  return found;
}

}  // namespace cloche::rules
