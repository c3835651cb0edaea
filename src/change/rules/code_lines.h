#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::rules {

// Which lines of a language are comments.
enum class Comments : uint8_t {
  kNone,        // none that we know
  kHash,        // shells, Ruby and the like: '#', but not "#!"
  kSpacedHash,  // "# text" only: `#include` and `#1000 ALL=...` mean something
  kSlashes,     // JavaScript, Rust, Go: "//"
  kGroovy,      // "//", and strings over several lines in slashes
  kPython,      // '#', found by reading the strings
};

// By the name of the file; kHash for every name that says nothing.
Comments CommentsOf(std::string_view name);
// Whether the name says that '#' begins a comment.
bool IsHashLanguage(std::string_view name);

struct CodeLine {
  std::string text;
  bool odd = false;  // characters that may spell a word that is not seen
};

// The lines that hold something and are no comment. A line is left out only where it is sure that
// no string, here-document or continued line includes it; from the first place on where that is not
// sure, all lines are code. Lines that a backslash joins are one. Layout is left out where the
// language does.
std::vector<CodeLine> CodeLines(std::string_view text, Comments comments);

// "# text", not "#!", "#{", "#=" and whatever else has a meaning somewhere.
bool IsHashComment(std::string_view trimmed);

}  // namespace cloche::rules
