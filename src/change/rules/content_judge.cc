#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "change/rules/certainty.h"
#include "change/rules/glob.h"
#include "change/rules/judges.h"
#include "change/rules/key_values.h"

namespace cloche::rules {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::vector<std::string> Prefixed(std::string_view prefix, std::vector<std::string> lines) {
  for (std::string& line : lines) line.insert(0, prefix);
  return lines;
}

void Append(std::vector<std::string>& to, std::vector<std::string> from) {
  std::ranges::move(from, std::back_inserter(to));
}

Comments CommentsIn(const TriggerClass& rule, std::string_view name) {
  const Comments comments = CommentsOf(name);
  // sudoers and apt have directives that start with '#'.
  if (comments == Comments::kHash && (rule.id == "access" || rule.id == "package-manager"))
    return Comments::kSpacedHash;
  // Files of any language: '#' is a comment only if that is known.
  const bool mixed = AnyWord(
      "tool-code project-startup dotnet-files language-startup named-script agent-scripts "
      "package-hooks other-tools",
      [&](auto id) { return id == rule.id; });
  if (comments == Comments::kHash && mixed && !IsHashLanguage(name)) return Comments::kNone;
  return comments;
}

Parts PartsOf(const TriggerClass& rule, std::string_view name, std::string_view text,
              std::string_view make_commands) {
  switch (rule.judge) {
    case Judge::kLiteralCode:
      return LiteralCodeParts(text, CommentsIn(rule, name));
    case Judge::kToolCode:
      return ToolCodeParts(text, CommentsIn(rule, name));
    case Judge::kMake:
      if (Lowered(name).ends_with(".d")) return DependencyParts(text);
      return Lowered(name).ends_with("justfile") || Lowered(name).ends_with(".just")
                 ? JustParts(text)
                 : MakeParts(text, make_commands);
    case Judge::kCMake:
      return CMakeParts(text);
    case Judge::kDocker:
      return DockerParts(text);
    case Judge::kGitAttributes:
      return GitAttributeParts(text);
    case Judge::kAgentText:
      return AgentTextParts(text);
    case Judge::kPathFile:
      return PathFileParts(text);
    default:
      return ScriptParts(text, CommentsIn(rule, name));
  }
}

// A key pattern covers the key and everything below it.
bool KeyHolds(std::string_view pattern, const KeyValue& each) {
  const size_t equals = pattern.find('=');
  const std::string_view name = pattern.substr(0, equals);
  if (equals != pattern.npos && !StarMatches(pattern.substr(equals + 1), each.value)) return false;
  return StarMatches(name, each.key) || StarMatches(std::string(name) + ".*", each.key) ||
         StarMatches(std::string(name) + "[]*", each.key);
}

// A key and a value, and which of the class's keys match.
struct Setting {
  std::string_view key;
  std::string same;
  std::string value;
  bool command = false;
  bool guard = false;
};

std::vector<Setting> SettingsOf(const TriggerClass& rule, const KeyValues& values) {
  std::vector<Setting> settings;
  settings.reserve(values.size());
  for (const KeyValue& each : values) {
    bool version_is_data = false;
    const bool doubtful = each.key.find(kDoubtful) != each.key.npos;
    const KeyValue shown{ShownKey(each.key), each.value};
    const bool command = AnyWord(rule.keys, [&](std::string_view pattern) {
      version_is_data = pattern.starts_with('@');
      const bool marked = version_is_data || pattern.starts_with('^');
      return KeyHolds(pattern.substr(marked ? 1 : 0), shown);
    });
    const bool guard = command && AnyWord(rule.keys, [&](std::string_view pattern) {
                         return pattern.starts_with('^') && KeyHolds(pattern.substr(1), shown);
                       });
    const bool loose = command && version_is_data && !doubtful;
    settings.push_back({each.key,
                        each.key + " = " + (loose ? WithoutVersion(each.value) : each.value),
                        each.value, doubtful || command, guard});
  }
  return settings;
}

using Sequences = std::map<std::string_view, std::vector<std::string_view>>;

// If a key has several values, their order decides which one wins. List items do not compete like
// that.
Sequences RivalsOf(const std::vector<Setting>& settings,
                   const std::set<std::string_view>& command_keys) {
  Sequences rivals;
  for (const Setting& each : settings)
    if (command_keys.contains(each.key) && each.key.find("[]") == each.key.npos)
      rivals[each.key].push_back(each.same);
  return rivals;
}

// The lines of each key's earlier values, computed on first use.
class EarlierLines {
 public:
  explicit EarlierLines(const std::vector<Setting>& settings) {
    for (const Setting& each : settings) values_.emplace(each.key, each.value);
  }
  const std::set<std::string_view>& Of(std::string_view key) {
    const auto [entry, is_new] = lines_.try_emplace(key);
    if (!is_new) return entry->second;
    const auto [first, end] = values_.equal_range(key);
    for (auto it = first; it != end; ++it)
      for (const std::string_view line : Lines(it->second)) entry->second.insert(TrimLine(line));
    return entry->second;
  }

 private:
  std::multimap<std::string_view, std::string_view> values_;
  std::map<std::string_view, std::set<std::string_view>> lines_;
};

// The lines of a long value that no earlier value of this key has; the whole value if there are
// none.
void Show(const Setting& setting, EarlierLines& earlier, std::vector<std::string>& out) {
  const std::string key = ShownKey(setting.key) + " = ";
  if (setting.value.find('\n') == std::string::npos) {
    out.push_back(key + setting.value);
    return;
  }
  const std::set<std::string_view>& known = earlier.Of(setting.key);
  const size_t shown_before = out.size();
  for (const std::string_view line : Lines(setting.value))
    if (!TrimLine(line).empty() && !known.contains(TrimLine(line)))
      out.push_back(key + std::string(line));
  if (out.size() == shown_before) out.push_back(key + "(lines left out or moved) " + setting.value);
}

std::vector<std::string> GuardsGone(const std::vector<Setting>& before,
                                    const std::vector<Setting>& after) {
  std::set<std::string_view> kept;
  for (const Setting& each : after) kept.insert(each.key);
  std::vector<std::string> gone;
  for (const Setting& each : before)
    if (each.guard && !kept.contains(each.key))
      gone.push_back(ShownKey(each.key) + " = " + each.value + " (gone)");
  return gone;
}

Judgement CompareSettings(const std::vector<Setting>& before, const std::vector<Setting>& after) {
  Judgement verdict;
  EarlierLines earlier(before);
  std::set<std::string_view> command_keys;
  std::map<std::string_view, size_t> commands;
  std::map<std::string_view, size_t> data;
  std::vector<std::string> whole;
  for (const Setting& each : before) {
    if (each.command) command_keys.insert(each.key);
    if (each.command) ++commands[each.same];
  }
  for (const Setting& each : before) whole.push_back(std::string(each.key) + " = " + each.value);
  for (const std::string& each : whole) ++data[each];
  std::set<std::string_view> changed;
  for (const Setting& each : after) {
    if (each.command) {
      command_keys.insert(each.key);
      const auto known = commands.find(each.same);
      if (known != commands.end() && known->second > 0) {
        --known->second;
      } else {
        Show(each, earlier, verdict.alarms);
        changed.insert(each.key);
      }
    }
    const auto known = data.find(std::string(each.key) + " = " + each.value);
    if (known != data.end() && known->second > 0)
      --known->second;
    else
      Show(each, earlier, verdict.notices);
  }
  std::ranges::move(GuardsGone(before, after), std::back_inserter(verdict.alarms));
  const Sequences then = RivalsOf(before, command_keys);
  for (const auto& [key, values] : RivalsOf(after, command_keys)) {
    const auto old = then.find(key);
    if (old == then.end() || changed.contains(key) || old->second == values) continue;
    verdict.alarms.push_back(ShownKey(values.back()) + " (another one of several values wins)");
  }
  return verdict;
}

Judgement NotUnderstood(std::string_view why, std::optional<std::string_view> before,
                        std::string_view after) {
  const Parts lines = ScriptParts(after, Comments::kNone);
  Judgement verdict;
  verdict.alarms.emplace_back(why);
  Append(verdict.alarms,
         More(lines.commands, ScriptParts(before.value_or(""), Comments::kNone).commands));
  return verdict;
}

Judgement JudgeKeys(const TriggerClass& rule, std::optional<std::string_view> before,
                    std::string_view after) {
  Judgement verdict;
  std::set<std::string> known;
  for (size_t reading = 0; reading < ReadingsOf(rule.format); ++reading) {
    auto now = ReadKeyValues(rule.format, after, reading);
    auto then = ReadKeyValues(rule.format, before.value_or(""), reading);
    if (!then && (!before || reading > 0)) then.emplace();  // empty text is not JSON
    if (!now && reading > 0) now.emplace();
    if (!now || !then)
      return NotUnderstood("could not be read with certainty: every new line may be what runs",
                           before, after);
    Judgement one = CompareSettings(SettingsOf(rule, *then), SettingsOf(rule, *now));
    for (std::string& alarm : one.alarms)
      if (known.insert(alarm).second) verdict.alarms.push_back(std::move(alarm));
    if (reading == 0) verdict.notices = std::move(one.notices);
  }
  return verdict;
}

bool IsAssignment(std::string_view line) {
  if (line.starts_with("export ")) line = TrimLine(line.substr(7));
  const size_t equals = line.find('=');
  const std::string_view name = line.substr(0, equals);
  if (name.empty() || equals == line.npos || name.find_first_of(" \t;|&<>()\"'$") != name.npos)
    return false;
  const std::string_view value = line.substr(equals + 1);
  if (value.starts_with('"') || value.starts_with('\'')) {
    const size_t end = value.find(value.front(), 1);
    if (end == value.npos) return false;
    const std::string_view rest = TrimLine(value.substr(end + 1));
    return rest.empty() || rest.starts_with('#');
  }
  if (value.find(';') != value.npos) return false;
  const std::string_view rest =
      TrimLine(value.substr(std::min(value.find_first_of(" \t"), value.size())));
  return rest.empty() || rest.starts_with('#');
}

// A shell that sources a list of variables runs every line that is something else.
std::vector<Part> ShellLines(std::string_view text) {
  std::vector<Part> lines;
  ForEachLine(text, [&](std::string_view raw) {
    const std::string_view line = TrimLine(raw);
    if (!line.empty() && !line.starts_with('#') && !IsAssignment(line))
      lines.push_back({std::string(line)});
  });
  return lines;
}

// Some tools expand templates before they read a file, even in comments: ERB, and Go templates with
// a function that starts programs.
std::vector<Part> TemplateLines(std::string_view text) {
  std::vector<Part> lines;
  ForEachLine(text, [&](std::string_view line) {
    const bool go = line.find("{{") != line.npos && line.find("exec") != line.npos;
    if (go || line.find("<%") != line.npos) lines.push_back({std::string(TrimLine(line))});
  });
  return lines;
}

// "" = every tool sees the lines that we see.
std::string DoubtAboutFile(const TriggerClass& rule, std::string_view name, std::string_view text) {
  std::string doubt = DoubtAbout(text);
  if (doubt.empty() && rule.judge != Judge::kKeys && CommentsOf(name) == Comments::kPython)
    if (const std::string encoding = OddPythonEncoding(text); !encoding.empty())
      doubt = "the encoding " + encoding;
  return doubt;
}

}  // namespace

Judgement JudgeScript(const Parts& before, const Parts& after) {
  Judgement verdict;
  Append(verdict.alarms, Prefixed("+ ", More(after.commands, before.commands)));
  Append(verdict.alarms, Prefixed("- ", More(before.commands, after.commands)));
  if (verdict.alarms.empty() &&
      !std::ranges::equal(before.commands, after.commands, {}, &Part::same, &Part::same))
    verdict.alarms.emplace_back("the same lines in another order");
  return verdict;
}

std::vector<std::string> GuardsOf(const TriggerClass& rule, std::string_view text) {
  if (rule.judge != Judge::kKeys) return {};
  const auto values = ReadKeyValues(rule.format, text);
  if (!values) return {};
  return GuardsGone(SettingsOf(rule, *values), {});
}

Judgement JudgeContent(const TriggerClass& rule, std::string_view name,
                       std::optional<std::string_view> before, std::string_view after,
                       std::string_view make_commands) {
  const std::string now_doubt = DoubtAboutFile(rule, name, after);
  const std::string then_doubt = before ? DoubtAboutFile(rule, name, *before) : "";
  if (!now_doubt.empty() || !then_doubt.empty())
    return NotUnderstood("could not be read with certainty: " +
                             (now_doubt.empty() ? then_doubt + " before the change" : now_doubt),
                         before, after);
  // Some tools make this mark part of the first word, others ignore it.
  const bool mark_changed =
      after.starts_with(kByteOrderMark) != before.value_or("").starts_with(kByteOrderMark);
  if (mark_changed && rule.format != Format::kJson && rule.format != Format::kXml)
    return NotUnderstood("could not be read with certainty: a mark of byte order", before, after);
  if (rule.judge == Judge::kLock) {
    LockChange compared = CompareLocks(name, before, after);
    return {std::move(compared.alarms), std::move(compared.notices)};
  }
  if (rule.judge == Judge::kKeys) {
    Judgement verdict = JudgeKeys(rule, before, after);
    Append(verdict.alarms, More(TemplateLines(after), TemplateLines(before.value_or(""))));
    if (rule.id == "env-file")
      Append(verdict.alarms, More(ShellLines(after), ShellLines(before.value_or(""))));
    return verdict;
  }
  const Parts now = PartsOf(rule, name, after, make_commands);
  Parts then = PartsOf(rule, name, before.value_or(""), make_commands);
  // A file that was refused as a whole ran nothing.
  if (rule.judge == Judge::kCMake && CMakeRefuses(before.value_or(""))) then = {};
  if (rule.judge == Judge::kScript) return JudgeScript(then, now);
  return {More(now.commands, then.commands), More(now.data, then.data)};
}

}  // namespace cloche::rules
