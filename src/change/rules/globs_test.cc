#include "change/rules/globs.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace cloche::rules {
namespace {

Glob Make(std::string_view pattern) {
  Result<Glob> glob = Glob::Parse(pattern);
  EXPECT_TRUE(glob) << pattern << ": " << glob.error().message;
  return glob ? *glob : *Glob::Parse("x");
}

bool Allows(std::string_view pattern, std::string_view path, bool is_directory = false) {
  return Make(pattern).Allows(path, is_directory);
}

bool Forbids(std::string_view pattern, std::string_view path) {
  return Make(pattern).Forbids(path);
}

bool Refused(std::string_view pattern) { return !Glob::Parse(pattern); }

TEST(Globs, APlainNameMatchesAtAnyDepth) {
  EXPECT_TRUE(Allows("pyproject.toml", "pyproject.toml"));
  EXPECT_TRUE(Allows("pyproject.toml", "a/b/pyproject.toml"));
  EXPECT_FALSE(Allows("pyproject.toml", "pyproject.tomlx"));
  EXPECT_FALSE(Allows("pyproject.toml", "xpyproject.toml"));
  EXPECT_FALSE(Allows("pyproject.toml", "pyprojectxtoml"));
}

TEST(Globs, ASlashAtTheStartOrWithinBindsToTheProject) {
  EXPECT_TRUE(Allows("/a", "a"));
  EXPECT_FALSE(Allows("/a", "b/a"));
  EXPECT_TRUE(Allows("a/b", "a/b"));
  EXPECT_FALSE(Allows("a/b", "x/a/b"));
  EXPECT_FALSE(Allows("/a/", "b/a", true));
  EXPECT_TRUE(Allows("a/", "b/a", true));
}

TEST(Globs, TwoStarsAreAnyNumberOfDirectories) {
  EXPECT_TRUE(Allows("lib/**/*.py", "lib/a.py"));
  EXPECT_TRUE(Allows("lib/**/*.py", "lib/x/y/z/a.py"));
  EXPECT_FALSE(Allows("lib/**/*.py", "ext/lib/a.py"));
  EXPECT_FALSE(Allows("lib/**/*.py", "lib/a.pyc"));
  EXPECT_FALSE(Allows("lib/**/*.py", "libx/a.py"));
  EXPECT_TRUE(Allows("**/a", "a"));
  EXPECT_TRUE(Allows("a/**/b/**/c", "a/x/b/b/y/c"));
  EXPECT_FALSE(Allows("a/**/b/**/c", "a/x/c"));
  EXPECT_TRUE(Allows("a/**", "a/b/c"));
  EXPECT_FALSE(Allows("a/**", "a", true));
  EXPECT_TRUE(Allows("**", "a/b"));
}

TEST(Globs, OneStarStaysInItsName) {
  EXPECT_TRUE(Allows("lib/*.py", "lib/.py"));
  EXPECT_FALSE(Allows("lib/*.py", "lib/a/b.py"));
  EXPECT_TRUE(Allows("*", ".hidden"));
  EXPECT_TRUE(Allows("a*b*c", "aXbXbXc"));
  EXPECT_FALSE(Allows("a*b*c", "aXbXbX"));
  EXPECT_TRUE(Allows("a**c", "abc"));
  EXPECT_FALSE(Allows("/a**c", "a/c"));
}

TEST(Globs, AQuestionMarkAndASetAreOneByte) {
  EXPECT_TRUE(Allows("a?c", "abc"));
  EXPECT_FALSE(Allows("/a?c", "a/c"));
  EXPECT_FALSE(Allows("a?", "a"));
  EXPECT_TRUE(Allows("[a-cx]1", "b1"));
  EXPECT_TRUE(Allows("[a-cx]1", "x1"));
  EXPECT_FALSE(Allows("[a-cx]1", "d1"));
  EXPECT_TRUE(Allows("[!a]", "b"));
  EXPECT_FALSE(Allows("[^a]", "a"));
  EXPECT_TRUE(Allows("[]a]", "]"));
  EXPECT_TRUE(Allows("[!]]", "a"));
  EXPECT_FALSE(Allows("[!]]", "]"));
  EXPECT_TRUE(Allows("[a-]", "-"));
  EXPECT_TRUE(Allows("[\\]-]", "]"));
  EXPECT_TRUE(Allows("?", "\xff"));
  EXPECT_FALSE(Allows("?", "\xc3\xa4"));  // two bytes
  EXPECT_TRUE(Allows("[\x80-\xff]*", "\xc3\xa4"));
}

TEST(Globs, ABackslashQuotesTheNextByte) {
  EXPECT_TRUE(Allows("\\*", "*"));
  EXPECT_FALSE(Allows("\\*", "a"));
  EXPECT_TRUE(Allows("\\!a", "!a"));
  EXPECT_TRUE(Allows("a\\[b", "a[b"));
}

TEST(Globs, AllowingIsNarrow) {
  EXPECT_FALSE(Allows("*.py", "x.py/evil.sh"));
  EXPECT_FALSE(Allows("lib", "lib/a"));
  EXPECT_TRUE(Allows("lib/", "lib/a/b"));
  EXPECT_TRUE(Allows("lib/", "lib", true));
  EXPECT_FALSE(Allows("lib/", "lib", false));  // a symlink to anywhere
}

TEST(Globs, ForbiddingIsWide) {
  EXPECT_TRUE(Forbids(".git/", ".git/hooks/pre-commit"));
  EXPECT_TRUE(Forbids(".git/", "sub/.git/config"));
  EXPECT_TRUE(Forbids(".git/", ".git"));  // a file that names another repository
  EXPECT_TRUE(Forbids("secrets", "secrets/key"));
  EXPECT_FALSE(Forbids(".git/", ".github/workflows/a.yml"));
  EXPECT_FALSE(Forbids("/secrets", "lib/secrets"));
}

TEST(Globs, MeaninglessPatternsAreRefused) {
  for (const char* pattern : {"", "/", "//", "a//b", "./a", "a/../b", "..", "!a", "[", "[a", "[]",
                              "a[!", "[z-a]", "[a-", "[[:alpha:]]", "a\\", "a\\/b", "[a/b]"})
    EXPECT_TRUE(Refused(pattern)) << pattern;
  EXPECT_TRUE(Refused(std::string_view("a\0b", 3)));
  EXPECT_TRUE(Refused(std::string(kMaxGlob + 1, 'a')));
  EXPECT_FALSE(Refused(std::string(kMaxGlob, 'a')));
}

TEST(Globs, AnErrorIsSafeToShow) {
  const Result<Glob> glob = Glob::Parse("[\x1b[2J");
  ASSERT_FALSE(glob);
  EXPECT_EQ(glob.error().message.find('\x1b'), std::string::npos);
}

// Each would take longer than the age of the universe if stars backtracked within each other.
TEST(Globs, HostilePatternsEnd) {
  std::string stars, steps, deep;
  for (int i = 0; i < 1000; ++i) {
    stars += "*a";
    steps += "**/a/";
    deep += "a/";
  }
  const std::string name(4000, 'a');
  EXPECT_FALSE(Allows(stars + "*b", name));
  EXPECT_TRUE(Allows(stars, name));
  EXPECT_FALSE(Allows(steps.substr(0, 4000) + "b", deep + deep + "a"));
  EXPECT_TRUE(Forbids(steps.substr(0, 4000) + "*", deep + deep + "a"));
  EXPECT_FALSE(Allows("**/*a*a*a*a*a*b/**/*a*a*a*b", deep + name));
}

// The plain definition, possibly slow: `pattern` has only letters, ?, * and **.
bool Slowly(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return path.empty();
  if (pattern.starts_with("**/")) {
    if (Slowly(pattern.substr(3), path)) return true;
    const size_t slash = path.find('/');
    return slash != std::string_view::npos && Slowly(pattern, path.substr(slash + 1));
  }
  if (pattern.front() == '*') {
    for (size_t taken = 0; taken <= path.size(); ++taken) {
      if (Slowly(pattern.substr(1), path.substr(taken))) return true;
      if (taken < path.size() && path[taken] == '/') return false;
    }
    return false;
  }
  if (path.empty()) return false;
  const bool fits = pattern.front() == path.front() || (pattern.front() == '?' && path[0] != '/');
  return fits && Slowly(pattern.substr(1), path.substr(1));
}

TEST(Globs, RandomPatternsMatchAsDefined) {
  std::mt19937 random(1);
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  size_t matched = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string pattern = "/";
    for (size_t names = random() % 4; names > 0; --names)
      pattern += pick({"**", "*", "a", "b", "a*", "*b", "?", "a?*b", "*a*b*"}) + "/";
    pattern += pick({"a", "b", "*", "*a", "?b", "a*b"});
    std::string path;
    for (size_t names = random() % 5; names > 0; --names)
      path += pick({"a", "b", "ab", "ba", "aab", "abab"}) + "/";
    path += pick({"a", "b", "ab", "ba"});
    const bool expected = Slowly(std::string_view(pattern).substr(1), path);
    if (expected) ++matched;
    EXPECT_EQ(Allows(pattern, path), expected) << pattern << " " << path;
  }
  EXPECT_GT(matched, 2000u);
}

TEST(PathRules, ADenyOverridesAnAllow) {
  const PathRules rules{.allow = {Make("lib/"), Make("*.md")},
                        .deny = {Make("lib/secret/")},
                        .read_only = {Make("pyproject.toml")}};
  EXPECT_EQ(CheckPath(rules, "lib/a.py", false).rule, PathRule::kFree);
  EXPECT_EQ(CheckPath(rules, "notes/a.md", false).rule, PathRule::kFree);
  EXPECT_EQ(CheckPath(rules, "Makefile", false).rule, PathRule::kNotAllowed);
  const PathAnswer denied = CheckPath(rules, "lib/secret/x", false);
  EXPECT_EQ(denied.rule, PathRule::kDenied);
  EXPECT_EQ(denied.pattern, "lib/secret/");
  EXPECT_EQ(CheckPath(rules, "lib/pyproject.toml", false).rule, PathRule::kReadOnly);
}

TEST(PathRules, WithoutRulesEverythingIsFree) {
  EXPECT_EQ(CheckPath({}, "a/b", false).rule, PathRule::kFree);
}

TEST(PathRules, AnUncleanPathIsNotAllowed) {
  for (const char* path : {"/a", "a/", "a//b", "../a", "a/./b"})
    EXPECT_EQ(CheckPath({}, path, false).rule, PathRule::kNotAllowed) << path;
}

}  // namespace
}  // namespace cloche::rules
