#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::rules {

inline constexpr size_t kMaxGlob = 4096;  // bytes of a pattern

// A pattern for paths below a project, as in .gitignore: `*` and `?` do not cross a slash, `**`
// stands for any number of directories, `[a-z]` and `[!a-z]` for one byte, `\` quotes the next
// byte. With a slash at its start or within it, it starts at the project; otherwise it matches at
// any depth. With a slash at its end it means a directory and everything below.
//
// Names are bytes; no locale, no case folding. A match costs at most the product of the two
// lengths. Paths are relative to the project and clean: "lib/a.py".
class Glob {
 public:
  static Result<Glob> Parse(std::string_view pattern);

  const std::string& pattern() const { return pattern_; }

  // Narrow, for allowing: `x.py` does not match anything below a directory x.py, nor `lib/` a file
  // or symlink lib.
  bool Allows(std::string_view path, bool is_directory) const;

  // Wide, for forbidding: everything below a match matches, too, and `.git/` also matches a file or
  // symlink .git.
  bool Forbids(std::string_view path) const;

 private:
  // One byte of a name, or any number of them.
  struct Token {
    bool star = false;
    std::bitset<256> bytes;
  };
  // One name of a path, or any number of them.
  struct Step {
    bool any_depth = false;
    std::vector<Token> tokens;
  };

  static Result<Step> ParseName(std::string_view name);
  static Result<size_t> ParseSet(std::string_view name, size_t at, Token& token);
  static Step AnyDepth() { return {.any_depth = true, .tokens = {}}; }
  static Step AnyName() { return {.any_depth = false, .tokens = {{.star = true, .bytes = {}}}}; }
  static bool MatchName(const std::vector<Token>& tokens, std::string_view name);
  static bool MatchPath(const std::vector<Step>& steps, std::string_view path);

  std::string pattern_;
  std::vector<Step> exact_;  // the path itself
  std::vector<Step> below_;  // anything below it
  bool directory_ = false;   // a slash at the end
};

// `promote.allow`, `promote.deny` and `promote.read_only` of a project.
struct PathRules {
  std::vector<Glob> allow;  // empty: everything
  std::vector<Glob> deny;
  std::vector<Glob> read_only;
};

enum class PathRule { kFree, kDenied, kReadOnly, kNotAllowed };

struct PathAnswer {
  PathRule rule = PathRule::kFree;
  std::string_view pattern;  // the one that forbids it; points into the rules
};

// Whether the rules let a promotion touch a path, in the order of PathRule: an allow never
// overrides a deny. A path that is not clean is not allowed. Callers must allow new directories on
// the way to something allowed themselves.
PathAnswer CheckPath(const PathRules& rules, std::string_view path, bool is_directory);

}  // namespace cloche::rules
