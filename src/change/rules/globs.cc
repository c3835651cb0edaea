#include "change/rules/globs.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "change/model/change.h"

namespace cloche::rules {
namespace {

std::unexpected<Error> BadGlob(std::string_view pattern, std::string_view why) {
  return Fail(Code::kInvalid,
              fmt::format("read pattern {}: {}", EscapeForTerminal(pattern.substr(0, 100)), why),
              "write it as in .gitignore");
}

size_t Byte(char c) { return static_cast<unsigned char>(c); }

// Matches a sequence against patterns, some of which (stars) take any number of elements. Only the
// last star is ever extended: whatever an earlier one could take, a later one can, too.
template <typename IsStar, typename Fits>
bool MatchRow(size_t patterns, size_t things, IsStar is_star, Fits fits) {
  size_t pattern = 0;
  size_t thing = 0;
  std::optional<size_t> star;
  size_t star_end = 0;  // end of what the star took
  while (thing < things) {
    if (pattern < patterns && is_star(pattern)) {
      star = pattern++;
      star_end = thing;
    } else if (pattern < patterns && fits(pattern, thing)) {
      ++pattern;
      ++thing;
    } else if (star) {
      pattern = *star + 1;
      thing = ++star_end;
    } else {
      return false;
    }
  }
  while (pattern < patterns && is_star(pattern)) ++pattern;
  return pattern == patterns;
}

std::vector<std::string_view> Names(std::string_view path) {
  std::vector<std::string_view> names;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    names.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

}  // namespace

// `at` is the byte after "["; returns the position after "]".
Result<size_t> Glob::ParseSet(std::string_view name, size_t at, Token& token) {
  const bool negated = at < name.size() && (name[at] == '!' || name[at] == '^');
  if (negated) ++at;
  const auto next = [&]() -> std::optional<size_t> {
    if (at < name.size() && name[at] == '\\') ++at;
    if (at >= name.size()) return std::nullopt;
    return Byte(name[at++]);
  };
  for (bool first = true;; first = false) {
    if (at < name.size() && name[at] == ']' && !first) break;
    if (name.substr(at).starts_with("[:"))
      return BadGlob(name, "names of classes are not known, write the bytes");
    const std::optional<size_t> low = next();
    std::optional<size_t> high = low;
    if (at + 1 < name.size() && name[at] == '-' && name[at + 1] != ']') {
      ++at;
      high = next();
    }
    if (!low || !high) return BadGlob(name, "a [ without its ]");
    if (*low > *high) return BadGlob(name, "a range that ends before it begins");
    for (size_t byte = *low; byte <= *high; ++byte) token.bytes.set(byte);
  }
  if (negated) token.bytes.flip();
  return at + 1;
}

Result<Glob::Step> Glob::ParseName(std::string_view name) {
  if (name.empty() || name == "." || name == "..")
    return BadGlob(name, "empty names, \".\" and \"..\" are in no path");
  if (name == "**") return AnyDepth();
  Step step;
  for (size_t at = 0; at < name.size();) {
    Token token;
    const char c = name[at++];
    if (c == '*') {
      token.star = true;
      if (!step.tokens.empty() && step.tokens.back().star) continue;
    } else if (c == '?') {
      token.bytes.set();
    } else if (c == '[') {
      ASSIGN_OR_RETURN(at, ParseSet(name, at, token));
    } else if (c == '\\') {
      if (at == name.size()) return BadGlob(name, "a \\ with nothing behind it");
      token.bytes.set(Byte(name[at++]));
    } else {
      token.bytes.set(Byte(c));
    }
    step.tokens.push_back(token);
  }
  return step;
}

Result<Glob> Glob::Parse(std::string_view pattern) {
  if (pattern.size() > kMaxGlob) return BadGlob(pattern, "it is too long");
  if (pattern.find('\0') != std::string_view::npos) return BadGlob(pattern, "it has a NUL in it");
  if (pattern.starts_with('!'))
    return BadGlob(pattern, "there is no \"!\": what is not allowed or denied has its own list");
  Glob glob;
  glob.pattern_ = pattern;
  std::string_view rest = pattern;
  glob.directory_ = rest.ends_with('/');
  if (glob.directory_) rest.remove_suffix(1);
  const bool anchored = rest.find('/') != std::string_view::npos;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  if (!anchored) glob.exact_.push_back(AnyDepth());
  for (const std::string_view name : Names(rest)) {
    ASSIGN_OR_RETURN(Step step, ParseName(name));
    const bool repeated = step.any_depth && !glob.exact_.empty() && glob.exact_.back().any_depth;
    if (!repeated) glob.exact_.push_back(std::move(step));
  }
  // "a/**" is everything in a, but not a itself.
  if (glob.exact_.back().any_depth) glob.exact_.push_back(AnyName());
  glob.below_ = glob.exact_;
  glob.below_.push_back(AnyName());
  glob.below_.push_back(AnyDepth());
  return glob;
}

bool Glob::MatchName(const std::vector<Token>& tokens, std::string_view name) {
  return MatchRow(
      tokens.size(), name.size(), [&](size_t token) { return tokens[token].star; },
      [&](size_t token, size_t at) { return tokens[token].bytes[Byte(name[at])]; });
}

bool Glob::MatchPath(const std::vector<Step>& steps, std::string_view path) {
  const std::vector<std::string_view> names = Names(path);
  return MatchRow(
      steps.size(), names.size(), [&](size_t step) { return steps[step].any_depth; },
      [&](size_t step, size_t name) { return MatchName(steps[step].tokens, names[name]); });
}

bool Glob::Allows(std::string_view path, bool is_directory) const {
  if (!directory_) return MatchPath(exact_, path);
  return (is_directory && MatchPath(exact_, path)) || MatchPath(below_, path);
}

bool Glob::Forbids(std::string_view path) const {
  return MatchPath(exact_, path) || MatchPath(below_, path);
}

PathAnswer CheckPath(const PathRules& rules, std::string_view path, bool is_directory) {
  if (!change::IsCleanPath("/" + std::string(path))) return {PathRule::kNotAllowed, {}};
  for (const Glob& glob : rules.deny)
    if (glob.Forbids(path)) return {PathRule::kDenied, glob.pattern()};
  for (const Glob& glob : rules.read_only)
    if (glob.Forbids(path)) return {PathRule::kReadOnly, glob.pattern()};
  const bool allowed =
      rules.allow.empty() || std::ranges::any_of(rules.allow, [&](const Glob& glob) {
        return glob.Allows(path, is_directory);
      });
  return {allowed ? PathRule::kFree : PathRule::kNotAllowed, {}};
}

}  // namespace cloche::rules
