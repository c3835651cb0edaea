#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::rules {

// How a language marks comment lines.
enum class Comments : uint8_t {
  kNone,        // none we know of
  kHash,        // shells, Ruby and the like: '#', but not "#!"
  kSpacedHash,  // "# text" only: `#include` and `#1000 ALL=...` mean something
  kSlashes,     // JavaScript, Rust, Go: "//"
  kGroovy,      // "//", and multi-line strings in slashes
  kPython,      // '#', found by parsing strings
};

// By file name; kHash if the name says nothing.
Comments CommentsOf(std::string_view name);
// Whether the name says that '#' begins a comment.
bool IsHashLanguage(std::string_view name);

struct CodeLine {
  std::string text;
  bool odd = false;  // has characters that may hide a word
};

// The lines that are neither empty nor comments. A line is left out only if no string,
// here-document or continued line can include it; from the first doubt on, all lines are code.
// Lines joined by a backslash are one line. Layout is ignored where the language ignores it.
std::vector<CodeLine> CodeLines(std::string_view text, Comments comments);

// "# text", but not "#!", "#{", "#=" or anything else that has a meaning somewhere.
bool IsHashComment(std::string_view trimmed);

}  // namespace cloche::rules
