#include <algorithm>
#include <array>
#include <utility>

#include "change/rules/judges.h"

namespace cloche::rules {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// These reorder the displayed text (Trojan Source).
constexpr std::array kBidirectional = {Range{0x202a, 0x202e}, Range{0x2066, 0x2069}};
// Direction marks; right-to-left prose contains them.
constexpr std::array kDirectionMarks = {Range{0x61c, 0x61c}, Range{0x200e, 0x200f}};
// Zero width. Variation selectors beyond the 16th and tags can carry hidden text. Some readers end
// a line at 85, 2028 and 2029, while editors show nothing.
constexpr std::array kInvisible = {
    Range{0x85, 0x85},       Range{0x2028, 0x2029},   Range{0xad, 0xad},
    Range{0x34f, 0x34f},     Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5},
    Range{0x180b, 0x180f},   Range{0x200b, 0x200b},   Range{0x2060, 0x2065},
    Range{0x206a, 0x206f},   Range{0x3164, 0x3164},   Range{0xfeff, 0xfeff},
    Range{0xffa0, 0xffa0},   Range{0xfff9, 0xfffb},   Range{0x1bca0, 0x1bca3},
    Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff},
};
// These join letters and emoji; among ASCII they have no use.
constexpr std::array kJoiners = {Range{0x200c, 0x200d}, Range{0xfe00, 0xfe0f}};

template <size_t N>
bool In(const std::array<Range, N>& ranges, char32_t c) {
  return std::ranges::any_of(ranges, [c](Range r) { return r.first <= c && c <= r.last; });
}

// The first character and its length; bytes that are not UTF-8 stand for themselves.
std::pair<char32_t, size_t> First(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
  if (length == 1 || text.size() < length) return {lead < 0x80 ? lead : 0xfffd, 1};
  char32_t c = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0xfffd, 1};
    c = c << 6 | (byte(i) & 0x3f);
  }
  return {c, length};
}

bool IsAscii(std::string_view text) {
  // No early exit, so that the compiler can vectorize it.
  while (!text.empty()) {
    const std::string_view block = text.substr(0, 4096);
    unsigned char all = 0;
    for (const char c : block) all |= static_cast<unsigned char>(c);
    if (all >= 0x80) return false;
    text.remove_prefix(block.size());
  }
  return true;
}

bool Deceives(std::string_view line, bool prose) {
  char32_t previous = 0;
  while (!line.empty()) {
    const auto [c, length] = First(line);
    line.remove_prefix(length);
    if (In(kBidirectional, c) || In(kInvisible, c)) return true;
    if (In(kDirectionMarks, c) && !prose) return true;
    if (In(kJoiners, c) && previous < 0x80 && !prose) return true;
    // 0..9, # and * become emoji with the 16th selector.
    if (In(kJoiners, c) && previous < 0x80 && c != 0xfe0f) return true;
    previous = c;
  }
  return false;
}

}  // namespace

std::vector<std::string> UnseenLines(std::optional<std::string_view> before, std::string_view after,
                                     bool prose) {
  if (IsAscii(after)) return {};
  if (after.starts_with("\xef\xbb\xbf")) after.remove_prefix(3);  // byte order mark
  const auto deceiving = [&](std::string_view text) {
    std::vector<Part> parts;
    ForEachLine(text, [&](std::string_view line) {
      if (!IsAscii(line) && Deceives(line, prose)) parts.push_back({std::string(line)});
    });
    return parts;
  };
  return More(deceiving(after), deceiving(before.value_or("")));
}

bool NameDeceives(std::string_view path) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  };
  return std::ranges::any_of(path, is_control) || (!IsAscii(path) && Deceives(path, false));
}

bool NameDisguises(std::string_view path) {
  while (!path.empty()) {
    const size_t end = path.find('/');
    std::string_view rest = path.substr(0, end);
    path.remove_prefix(end == path.npos ? path.size() : end + 1);
    if (rest == ".git") continue;
    const std::string_view whole = rest;
    // Characters that HFS+ ignores, endings that NTFS cuts off, and FAT's short name.
    std::string plain;
    while (!rest.empty()) {
      const auto [c, length] = First(rest);
      if (!In(kInvisible, c) && !In(kJoiners, c) && !In(kBidirectional, c) &&
          !In(kDirectionMarks, c))
        plain.append(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    if (const size_t stream = plain.find(':'); stream != plain.npos) plain.resize(stream);
    while (plain.ends_with(' ') || plain.ends_with('.')) plain.pop_back();
    plain = Lowered(plain);
    if (plain == ".git" || plain == "git~1") return true;
    if (whole.find('\\') != whole.npos && plain.find(".git\\") != plain.npos) return true;
  }
  return false;
}

}  // namespace cloche::rules
