#include "change/rules/certainty.h"

#include <algorithm>

#include "change/rules/glob.h"
#include "change/rules/line_sets.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMark = "\xef\xbb\xbf";

// A non-ASCII UTF-8 character; length 0: not valid UTF-8.
struct Decoded {
  char32_t value = 0;
  size_t length = 0;
};

Decoded Decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t c = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    c = c << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  if (overlong || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) return {};
  return {c, length};
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7f;
}

// "" = all tools treat this control character alike.
std::string_view ControlDoubt(std::string_view text, size_t at) {
  const auto next_is_end = [&](size_t i) {
    return i == text.size() || text[i] == '\n' || text.substr(i).starts_with("\r\n");
  };
  if (text[at] == '\0') return "a NUL byte";
  if (text[at] == '\r')
    return at + 1 < text.size() && text[at + 1] == '\n' ? ""sv
                                                        : "a carriage return within a line"sv;
  if (text[at] == '\f' && (at == 0 || text[at - 1] == '\n') && next_is_end(at + 1)) return "";
  return "a control character";
}

}  // namespace

std::string DoubtAbout(std::string_view text) {
  for (const std::string_view mark : {"\xff\xfe"sv, "\xfe\xff"sv, "\0\0\xfe\xff"sv})
    if (text.starts_with(mark)) return "UTF-16 or UTF-32";
  size_t line = 1;
  size_t line_start = 0;
  const auto doubt = [&](std::string_view what) {
    return std::string(what) + " in line " + std::to_string(line);
  };
  for (size_t i = text.starts_with(kMark) ? kMark.size() : 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      line_start = i + 1;
    } else if (i - line_start > kMaxSureLine) {
      return doubt("too many characters");
    }
    if (IsControl(c)) {
      const std::string_view what = ControlDoubt(text, i);
      if (!what.empty()) return doubt(what);
    }
    if (static_cast<unsigned char>(c) < 0x80) {
      ++i;
      continue;
    }
    const Decoded decoded = Decode(text.substr(i));
    if (decoded.length == 0) return doubt("bytes that are not UTF-8");
    const char32_t u = decoded.value;
    if (u < 0xa0 || u == 0x2028 || u == 0x2029 || u == 0xfeff)
      return doubt("a character that ends a line for some tools");
    i += decoded.length;
  }
  return "";
}

std::string OddPythonEncoding(std::string_view text) {
  size_t number = 0;
  for (const std::string_view line : Lines(text.substr(0, 4096))) {
    if (++number > 2) break;
    const size_t hash = line.find('#');
    const size_t at = hash == line.npos ? hash : line.find("coding", hash);
    for (size_t i = at; i != line.npos; i = line.find("coding", i + 1)) {
      std::string_view rest = line.substr(i + 6);
      if (!rest.starts_with(':') && !rest.starts_with('=')) continue;
      rest = TrimLine(rest.substr(1));
      const size_t end = rest.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
      std::string name = Lowered(rest.substr(0, end));
      std::ranges::replace(name, '_', '-');
      if (!AnyWord("utf-8 utf8 ascii us-ascii latin-1 iso-8859-1 utf-8-unix utf-8-sig",
                   [&](auto known) { return known == name; }))
        return name.empty() ? "(none)" : name;
    }
  }
  return "";
}

}  // namespace cloche::rules
