#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "change/rules/glob.h"
#include "change/rules/judges.h"
#include "change/rules/key_values.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

// Hosts with everybody's repositories: there the owner and the repository name count, too.
constexpr auto kForges =
    "github.com codeload.github.com raw.githubusercontent.com gist.github.com gitlab.com "
    "bitbucket.org codeberg.org git.sr.ht"sv;

struct Entry {
  std::string name;
  std::string version;
  std::vector<std::string> sources;
  std::set<std::string> checksums;
};

struct Lock {
  std::vector<Entry> entries;
  std::map<std::string, size_t> sources;  // how often each is named
};

enum class Field { kNone, kName, kVersion, kSource, kChecksum };

Field FieldOf(std::string_view key) {
  const std::string lower = Lowered(key);
  for (const std::string_view part : {"funding"sv, "homepage"sv, "support"sv, "bugs"sv, "author"sv,
                                      "notification-url"sv, "description"sv})
    if (lower.find(part) != lower.npos) return Field::kNone;
  std::string_view last = lower;
  if (const size_t dot = last.rfind('.'); dot != last.npos) last.remove_prefix(dot + 1);
  while (last.ends_with("[]")) last.remove_suffix(2);
  const auto is_in = [&](std::string_view words) {
    return AnyWord(words, [&](auto word) { return word == last; });
  };
  if (is_in("name")) return Field::kName;
  if (is_in("version")) return Field::kVersion;
  if (is_in("resolved url source registry tarball git remote repository distributionurl index-url "
            "extra-index-url find-links trusted-host index location path-source"))
    return Field::kSource;
  if (is_in("integrity checksum hash hashes sha256 shasum narhash distributionsha256sum"))
    return Field::kChecksum;
  return Field::kNone;
}

// A package that is a local file.
bool IsLocalPackage(std::string_view value) {
  value = Unquoted(value);
  if (value.starts_with("file:") || value.starts_with("./") || value.starts_with("../") ||
      value.starts_with('/') || value.starts_with("~/"))
    return true;
  value = value.substr(0, value.find_first_of("#?"));
  return AnyWord(".tgz .tar.gz .tar.bz2 .tar.xz .tar .zip .whl .egg .gem .crate .jar",
                 [&](auto ending) { return Lowered(value).ends_with(ending); });
}

class Collector {
 public:
  void Begin(std::string name) {
    Entry entry;
    entry.name = std::move(name);
    lock_.entries.push_back(std::move(entry));
  }
  void Set(Field field, std::string_view value) {
    if (lock_.entries.empty()) Begin("");
    Entry& entry = lock_.entries.back();
    if (field == Field::kName) entry.name = value;
    if (field == Field::kVersion) entry.version = value;
    if (field == Field::kChecksum && !value.empty()) entry.checksums.emplace(value);
    if (field == Field::kSource) Source(value);
  }
  void Source(std::string_view value) {
    std::string source = SourceOf(value);
    if (source.empty() && IsLocalPackage(value)) Bare(value);
    if (source.empty()) return;
    if (lock_.entries.empty()) Begin("");
    ++lock_.sources[source];
    lock_.entries.back().sources.push_back(std::move(source));
  }
  void Bare(std::string_view value) {  // a source that is not a URL: the target of a replacement
    ++lock_.sources[std::string(value)];
  }
  Lock Take() { return std::move(lock_); }

 private:
  Lock lock_;
};

// Keys that differ only in their last component form one entry; in a list, a name starts the next.
Lock FromKeyValues(const KeyValues& values) {
  Collector collector;
  std::string_view open = kDoubtful;
  for (const auto& [key, value] : values) {
    const Field field = FieldOf(key);
    if (field == Field::kNone) continue;
    std::string_view above = key;
    // poetry: package.source.url, uv: package.source.registry, composer: packages[].dist.url
    for (const std::string_view middle : {".source."sv, ".dist."sv, ".sdist."sv, ".wheels[]"sv,
                                          ".files[]"sv, ".hashes[]"sv, ".resolution."sv})
      if (const size_t at = above.find(middle); at != above.npos) above = above.substr(0, at + 1);
    above = above.substr(0, above.rfind('.'));
    const bool list_item = field == Field::kName;
    if (above != open || list_item) {
      const size_t slash = above.rfind("node_modules/");
      collector.Begin(ShownKey(slash == above.npos ? above : above.substr(slash)));
      open = above;
    }
    collector.Set(field, value);
  }
  return collector.Take();
}

// `https\://` in .properties is understood; other escapes are not.
bool HasEscapes(std::string_view line) {
  for (size_t at = line.find('\\'); at != line.npos; at = line.find('\\', at + 1))
    if (at + 1 == line.size() || ":=#! "sv.find(line[at + 1]) == std::string_view::npos)
      return true;
  return false;
}

// pip joins a line that ends with a backslash to the next; no tool does so with a comment.
std::vector<std::string> WholeLines(std::string_view text) {
  std::vector<std::string> whole;
  bool more = false;
  ForEachLine(text, [&](std::string_view line) {
    const bool comment = TrimLine(line).starts_with('#');
    const bool joins = line.ends_with('\\') && !comment;
    const std::string_view kept = line.substr(0, line.size() - (joins ? 1 : 0));
    if (more)
      whole.back().append(kept);
    else
      whole.emplace_back(kept);
    more = joins;
  });
  return whole;
}

// pip's `-r other.txt`. If the other file is named like such a list, it is judged itself.
bool IncludesAnother(std::string_view line) {
  for (const std::string_view option :
       {"-r"sv, "requirement "sv, "requirement="sv, "-c"sv, "constraint "sv, "constraint="sv,
        "-e"sv, "editable "sv, "editable="sv}) {
    if (!line.starts_with(option)) continue;
    const std::string name = Lowered(TrimLine(line.substr(option.size())));
    const bool judged =
        (name.ends_with(".txt") || name.ends_with(".in")) &&
        (name.find("requirements") != name.npos || name.find("constraints") != name.npos);
    const bool here = option.find('e') == 1 && name == ".";
    return !judged && !here && name.find("://") == name.npos;
  }
  return false;
}

// yarn.lock, pnpm-lock.yaml, Gemfile.lock, go.sum, requirements.txt, *.properties: by lines.
Lock FromLines(std::string_view text, bool module_sums) {
  Collector collector;
  for (const std::string& raw : WholeLines(text)) {
    std::string_view line = TrimLine(raw);
    if (line.empty() || line.starts_with('#') || line.starts_with("//")) continue;
    // Text written in escapes may be a URL.
    if (HasEscapes(line)) collector.Bare(line);
    const size_t word_end = std::min(line.find_first_of(" \t=:"), line.size());
    std::string_view rest = TrimLine(line.substr(word_end));
    if (module_sums) {
      const size_t hash = rest.find(" h1:");
      if (hash == rest.npos) continue;
      collector.Begin(std::string(line.substr(0, word_end)));
      collector.Set(Field::kVersion, rest.substr(0, hash));
      collector.Set(Field::kChecksum, rest.substr(hash + 1));
      continue;
    }
    if (line.find("=>") != line.npos) {
      collector.Bare(line);
      continue;
    }
    // A package starts with its name and a colon: `foo@^1.0.0:`, `/foo@1.0.0:`.
    if (line.ends_with(':') && line.find('@') != line.npos) {
      const std::string_view name = Unquoted(line.substr(0, line.size() - 1));
      const size_t at = name.find('@', 1);
      collector.Begin(std::string(name.substr(0, at)));
      if (at != name.npos && name.find(',') == name.npos)
        collector.Set(Field::kVersion, name.substr(at));
      continue;
    }
    if (line.starts_with("--")) line.remove_prefix(2);
    const Field field = FieldOf(line.substr(0, std::min(line.find_first_of(" \t=:"), line.size())));
    while (rest.starts_with('=') || rest.starts_with(':')) rest = TrimLine(rest.substr(1));
    if (rest.starts_with('{')) {
      KeyValues flow;
      ReadFlow("", rest, ':', flow);
      for (const auto& [key, value] : flow) collector.Set(FieldOf(key), value);
    } else if (field == Field::kVersion || field == Field::kChecksum) {
      collector.Set(field, Unquoted(rest));
    } else if (IncludesAnother(line) || line.starts_with("index-url") ||
               line.starts_with("extra-index-url") || line.starts_with("find-links") ||
               line.starts_with("-i ") || line.starts_with("-f ")) {
      collector.Bare(line);
    } else if (line.starts_with("trusted-host")) {
      collector.Bare(line);
    } else {
      std::string spaced(line);
      std::ranges::replace(spaced, '\t', ' ');
      AnyWord(spaced, [&](std::string_view word) {
        collector.Source(word);
        return false;
      });
    }
  }
  return collector.Take();
}

// pip treats names as equal that differ only in case, or in runs of - _ and .
std::string PipName(std::string_view written) {
  std::string name;
  for (const char c : Lowered(written.substr(0, written.find_first_of("[=<>!~;@ \t")))) {
    const bool mark = c == '-' || c == '_' || c == '.';
    if (!mark) name += c;
    if (mark && !name.ends_with('-')) name += '-';
  }
  return name;
}

// requirements.txt: the hashes of each line, and the option that requires them for all.
void AddHashes(std::string_view text, Lock& lock) {
  Entry all;
  all.name = "all packages (--require-hashes)";
  for (const std::string& raw : WholeLines(text)) {
    const std::string_view line = TrimLine(raw);
    Entry entry;
    std::string spaced(line);
    std::ranges::replace(spaced, '\t', ' ');
    AnyWord(spaced, [&](std::string_view word) {
      if (word.starts_with('#')) return true;
      if (word.starts_with("--hash=")) entry.checksums.emplace(word.substr(7));
      if (word == "--require-hashes") all.checksums.emplace(word);
      return false;
    });
    if (line.empty() || line.starts_with('#') || line.starts_with('-')) continue;
    entry.name = PipName(line);
    const size_t version = line.find("==");
    if (version != line.npos)
      entry.version =
          line.substr(version + 2, line.find_first_of(" \t;#\\", version) - version - 2);
    lock.entries.push_back(std::move(entry));
  }
  lock.entries.push_back(std::move(all));
}

std::optional<Lock> ReadLock(std::string_view name, std::string_view text) {
  const std::string lower = Lowered(name);
  const bool json = lower.ends_with(".json") || lower == "composer.lock" ||
                    lower == "pipfile.lock" || lower == "flake.lock" || lower == "deno.lock" ||
                    lower == "package.resolved";
  const bool toml = lower == "cargo.lock" || lower == "poetry.lock" || lower == "uv.lock" ||
                    lower == "pdm.lock" || lower == "pylock.toml";
  if (!json && !toml) {
    Lock lock = FromLines(text, lower == "go.sum");
    if (lower.ends_with(".txt") || lower.ends_with(".in")) AddHashes(text, lock);
    return lock;
  }
  const auto values = json ? ReadJson(text) : ReadToml(text);
  if (!values) return std::nullopt;
  return FromKeyValues(*values);
}

bool Overlap(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& each) { return b.contains(each); });
}

void CompareChecksums(const Lock& before, const Lock& after, std::vector<std::string>& alarms) {
  std::multimap<std::string_view, const Entry*> known;
  for (const Entry& entry : before.entries)
    if (!entry.name.empty()) known.emplace(entry.name, &entry);
  for (const Entry& entry : after.entries) {
    const auto [first, end] = known.equal_range(entry.name);
    bool had_checksum = false;
    bool same_version = false;
    bool agrees = false;
    size_t looked = 0;
    for (auto it = first; it != end && looked < 64; ++it, ++looked) {
      const Entry& old = *it->second;
      had_checksum = had_checksum || !old.checksums.empty();
      if (old.version != entry.version || old.checksums.empty() || entry.checksums.empty())
        continue;
      same_version = true;
      agrees = agrees || Overlap(old.checksums, entry.checksums);
    }
    if (had_checksum && entry.checksums.empty() && (!entry.sources.empty() || first != end))
      alarms.push_back("the checksum of " + entry.name + " is gone");
    else if (same_version && !agrees)
      alarms.push_back("the checksum of " + entry.name + " " + entry.version +
                       " changed, the version did not");
  }
}

bool IsUnusual(std::string_view source) {
  return !source.starts_with("https://") || source.find('/', 8) != source.npos;
}

}  // namespace

std::string SourceOf(std::string_view url) {
  size_t scheme_end = url.find("://");
  std::string unescaped;
  if (const size_t escaped = url.find("\\://"); escaped != url.npos) {  // .properties
    unescaped = std::string(url.substr(0, escaped)) + std::string(url.substr(escaped + 1));
    url = unescaped;
    scheme_end = escaped;
  }
  if (scheme_end == url.npos) {
    // scp-like: git@host:owner/repository
    const size_t at = url.find("git@");
    if (at == url.npos) return {};
    const std::string_view rest = url.substr(at);
    return "ssh://" + std::string(rest.substr(0, rest.find_first_of(" \t\"'#,)}")));
  }
  size_t begin = scheme_end;
  const auto in_scheme = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '.';
  };
  while (begin > 0 && in_scheme(url[begin - 1])) --begin;
  std::string scheme = Lowered(url.substr(begin, scheme_end - begin));
  const bool repository = scheme.starts_with("git") || scheme.starts_with("hg") ||
                          scheme.starts_with("svn") || scheme == "ssh";
  if (const size_t plus = scheme.rfind('+'); plus != scheme.npos && !repository)
    scheme.erase(0, plus + 1);  // registry+https, sparse+https
  std::string_view rest = url.substr(scheme_end + 3);
  rest = rest.substr(0, rest.find_first_of(" \t\"'#?<>,)}]"));
  const size_t slash = rest.find('/');
  std::string host = Lowered(rest.substr(0, slash));
  // Everything up to the @ is user and password; a host with them is not the same as one without.
  const std::string bare = host.substr(host.rfind('@') + 1);
  std::string_view path = slash == rest.npos ? std::string_view() : rest.substr(slash);
  const bool forge = AnyWord(kForges, [&](auto each) { return each == bare; });
  if (!repository && !forge && scheme != "file") path = {};
  if (forge) {
    size_t end = path.find('/', 1);
    if (end != path.npos) end = path.find('/', end + 1);
    path = path.substr(0, end);
  }
  if (path.ends_with(".git")) path.remove_suffix(4);
  return scheme + "://" + host + std::string(path);
}

LockChange CompareLocks(std::string_view name, std::optional<std::string_view> before,
                        std::string_view after) {
  LockChange change;
  const std::optional<Lock> now = ReadLock(name, after);
  if (!now) {
    change.alarms.emplace_back("cannot be read as a lock file");
    return change;
  }
  if (const std::optional<Lock> then = before ? ReadLock(name, *before) : std::nullopt) {
    for (const auto& [source, count] : now->sources)
      if (!then->sources.contains(source)) change.alarms.push_back("new source " + source);
    CompareChecksums(*then, *now, change.alarms);
    std::set<std::pair<std::string_view, std::string_view>> known;
    for (const Entry& entry : then->entries) known.emplace(entry.name, entry.version);
    for (const Entry& entry : now->entries)
      if (!entry.name.empty() && !known.contains({entry.name, entry.version}))
        change.notices.push_back(entry.name + " " + entry.version);
    return change;
  }
  // Without an earlier state, the host that most packages come from is taken as the usual one.
  const auto most = std::ranges::max_element(
      now->sources, [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [source, count] : now->sources) {
    const bool ordinary = source == most->first && !IsUnusual(source);
    (ordinary ? change.notices : change.alarms).push_back("source " + source);
  }
  return change;
}

}  // namespace cloche::rules
