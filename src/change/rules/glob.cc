#include "change/rules/glob.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/ascii.h"

namespace cloche::rules {
namespace {

bool SameLetters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

bool Contains(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, Lower, Lower).empty();
}

enum class Kind { kLetter, kOne, kStar, kAnything, kFolders };

struct Token {
  Kind kind;
  char letter = 0;
};

std::vector<Token> Tokens(std::string_view glob) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < glob.size(); ++i) {
    const bool starts_component = i == 0 || glob[i - 1] == '/';
    if (starts_component && glob.substr(i).starts_with("**/")) {
      tokens.push_back({Kind::kFolders});
      i += 2;
    } else if (glob.substr(i).starts_with("**")) {
      tokens.push_back({Kind::kAnything});
      ++i;
    } else if (glob[i] == '*') {
      tokens.push_back({Kind::kStar});
    } else if (glob[i] == '?') {
      tokens.push_back({Kind::kOne});
    } else {
      tokens.push_back({Kind::kLetter, Lower(glob[i])});
    }
  }
  return tokens;
}

// Follows all positions in the glob that the text so far may have reached, in parallel, so no input
// causes backtracking.
class Places {
 public:
  explicit Places(const std::vector<Token>& tokens)
      : tokens_(tokens), now_(tokens.size() + 1), next_(tokens.size() + 1) {
    Enter(0, now_);
  }

  void Step(char c) {
    std::ranges::fill(next_, char{0});
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (now_[i] == 0) continue;
      switch (tokens_[i].kind) {
        case Kind::kLetter:
          if (tokens_[i].letter == c) Enter(i + 1, next_);
          break;
        case Kind::kOne:
          if (c != '/') Enter(i + 1, next_);
          break;
        case Kind::kStar:
          if (c != '/') Enter(i, next_);
          break;
        case Kind::kAnything:
          Enter(i, next_);
          break;
        case Kind::kFolders:
          next_[i] = 1;
          if (c == '/') Enter(i + 1, next_);
          break;
      }
    }
    now_.swap(next_);
  }

  bool AtEnd() const { return now_.back() != 0; }

 private:
  // Also enters positions reachable without consuming a character.
  void Enter(size_t i, std::vector<char>& into) {
    for (;; ++i) {
      into[i] = 1;
      if (i == tokens_.size()) return;
      const Kind kind = tokens_[i].kind;
      if (kind == Kind::kLetter || kind == Kind::kOne) return;
    }
  }

  const std::vector<Token>& tokens_;
  std::vector<char> now_;
  std::vector<char> next_;
};

}  // namespace

PathGlob::PathGlob(std::string_view text) : text_(text) {
  const size_t first = text.find_first_of("*?");
  literal_ = first == text.npos;
  head_ = text.substr(0, first);
  if (literal_) return;
  const size_t last = text.find_last_of("*?");
  tail_ = text.substr(last + 1);
  if (tail_.starts_with('/') && text.substr(0, last + 1).ends_with("**"))
    tail_.remove_prefix(1);  // `**/` may match nothing
  if (text.starts_with("**/")) {
    const std::string_view rest = text.substr(3);
    part_ = rest.substr(0, rest.find_first_of("*?"));
  }
}

bool PathGlob::Matches(std::string_view path) const {
  if (literal_) return SameLetters(text_, path);
  // Most globs already fail here.
  if (path.size() < head_.size() || path.size() < tail_.size() ||
      !SameLetters(tail_, path.substr(path.size() - tail_.size())) ||
      !SameLetters(head_, path.substr(0, head_.size())))
    return false;
  if (text_ == "**") return true;
  if (!part_.empty() && !Contains(path, part_)) return false;
  const std::vector<Token> tokens = Tokens(text_);
  Places places(tokens);
  for (const char c : path) places.Step(Lower(c));
  return places.AtEnd();
}

bool GlobMatches(std::string_view glob, std::string_view path) {
  return PathGlob(glob).Matches(path);
}

bool StarMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && Lower(pattern[p]) == Lower(text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace cloche::rules
