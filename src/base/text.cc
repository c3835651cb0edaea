#include "base/text.h"

#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/json_text.h"

namespace cloche {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

template <size_t N>
bool Contains(const std::array<Range, N>& ranges, char32_t c) {
  return std::ranges::any_of(ranges, [c](Range r) { return r.first <= c && c <= r.last; });
}

// Characters that reorder, hide or break what a person reads.
constexpr std::array kDeceptive = {
    Range{0x00, 0x1f},       Range{0x7f, 0x9f},       Range{0xad, 0xad},     Range{0x34f, 0x34f},
    Range{0x61c, 0x61c},     Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5}, Range{0x180b, 0x180f},
    Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f}, Range{0x3164, 0x3164},
    Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},   Range{0xfff0, 0xfffb}, Range{0xfffe, 0xffff},
    Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff},
};

constexpr std::array kWide = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},
    Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},
    Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f},
    Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff}, Range{0x1fa70, 0x1faff},
    Range{0x20000, 0x3fffd},
};

constexpr std::array kCombining = {
    Range{0x300, 0x36f},   Range{0x483, 0x489},   Range{0x591, 0x5bd},   Range{0x610, 0x61a},
    Range{0x64b, 0x65f},   Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff}, Range{0x20d0, 0x20ff},
    Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f},
};

// The character at the start of `text` and its length; length 0 when it is not UTF-8.
std::pair<char32_t, size_t> DecodeFirst(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {0, 0};
  char32_t c = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    c = c << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kShortest = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kShortest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return {0, 0};
  return {c, length};
}

struct Quantity {
  double value = 0;
  std::optional<uint64_t> whole;  // set when there is no fraction
  std::string_view unit;
};

// A number without sign, exponent or spaces, and what follows it.
std::optional<Quantity> SplitQuantity(std::string_view text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, quantity.value, std::chars_format::fixed);
  if (number.ec != std::errc()) return std::nullopt;
  uint64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);
  if (integer.ec == std::errc() && integer.ptr == number.ptr) quantity.whole = whole;
  quantity.unit = std::string_view(number.ptr, static_cast<size_t>(end - number.ptr));
  return quantity;
}

std::unexpected<Error> BadQuantity(const char* what, std::string_view text, const char* example) {
  return Fail(Code::kInvalid, fmt::format("read \"{}\": not a {}", text, what),
              fmt::format("write it like {}", example));
}

std::unexpected<Error> OutOfRange(std::string_view text, const char* how, const char* cure) {
  return Fail(Code::kInvalid, fmt::format("read \"{}\": {}", text, how), cure);
}

std::string Trimmed(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

Result<uint64_t> ParseBytes(std::string_view text) {
  constexpr const char* kExample = "512M or 1.5G";
  const auto quantity = SplitQuantity(text);
  if (!quantity) return BadQuantity("size", text, kExample);
  std::string unit(quantity->unit);
  for (char& c : unit) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  int shift = 0;
  if (!unit.empty() && unit != "B") {
    const size_t power = std::string_view("KMGT").find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "IB"))
      return BadQuantity("size", text, kExample);
    shift = static_cast<int>(10 * (power + 1));
  }
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();  // what JSON readers can hold
  if (quantity->whole) {
    if (*quantity->whole > kMax >> shift)
      return OutOfRange(text, "too large", "give a smaller one");
    return *quantity->whole << shift;
  }
  const double bytes = std::ldexp(quantity->value, shift);
  if (bytes >= static_cast<double>(kMax))
    return OutOfRange(text, "too large", "give a smaller one");
  if (shift == 0) return BadQuantity("size", text, kExample);
  return static_cast<uint64_t>(bytes);
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  // 1023.95 would be printed as 1024.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", Trimmed(std::round(value * 10) / 10), kUnits[unit]);
}

Result<double> ParseDuration(std::string_view text) {
  constexpr const char* kExample = "60s, 5m, 1h30m, 2d or 250ms";
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array kUnits = {Unit{"d", 86400}, Unit{"h", 3600}, Unit{"min", 60},
                                 Unit{"m", 60},    Unit{"s", 1},    Unit{"ms", 0.001}};
  const auto first = SplitQuantity(text);
  if (!first) return BadQuantity("duration", text, kExample);
  double seconds = first->unit.empty() ? first->value : 0;
  double last = std::numeric_limits<double>::max();  // larger units come first, each once
  for (std::string_view rest = first->unit.empty() ? "" : text; !rest.empty();) {
    const auto quantity = SplitQuantity(rest);
    if (!quantity) return BadQuantity("duration", text, kExample);
    const size_t length =
        std::min(quantity->unit.find_first_of("0123456789"), quantity->unit.size());
    const auto unit = std::ranges::find(kUnits, quantity->unit.substr(0, length), &Unit::name);
    if (unit == kUnits.end() || unit->seconds >= last)
      return BadQuantity("duration", text, kExample);
    seconds += quantity->value * unit->seconds;
    last = unit->seconds;
    rest = quantity->unit.substr(length);
  }
  constexpr double kLongest = 100.0 * 366 * 86400;
  if (!(seconds <= kLongest))
    return OutOfRange(text, "too long", "give less than a year, or 0 for no limit");
  return seconds;
}

std::string FormatDuration(double seconds) {
  if (seconds > 0 && seconds < 1) return Trimmed(seconds * 1000) + " ms";
  if (seconds >= 3600 && std::fmod(seconds, 3600) == 0) return Trimmed(seconds / 3600) + " h";
  if (seconds >= 60 && std::fmod(seconds, 60) == 0) return Trimmed(seconds / 60) + " min";
  return Trimmed(seconds) + " s";
}

std::string FormatAge(double seconds) {
  const double age = std::max(0.0, seconds);
  if (age < 60) return fmt::format("{:.0f} s", std::floor(age));
  if (age < 3600) return fmt::format("{:.0f} min", std::floor(age / 60));
  if (age < 86400 * 2) return fmt::format("{:.0f} h", std::floor(age / 3600));
  return fmt::format("{:.0f} d", std::floor(age / 86400));
}

Result<double> ParseCpu(std::string_view text) {
  const auto quantity = SplitQuantity(text);
  if (!quantity || !quantity->unit.empty()) return BadQuantity("number of CPUs", text, "1.5");
  if (!(quantity->value <= 65536)) return OutOfRange(text, "too large", "give a smaller one");
  if (quantity->value > 0 && quantity->value < 0.001)
    return OutOfRange(text, "too small", "give 0.01 or more");
  return quantity->value;
}

Result<uint64_t> ParseCount(std::string_view text) {
  constexpr const char* kExample = "100, 20k or 1.5M";
  const auto quantity = SplitQuantity(text);
  const std::string_view unit = quantity ? quantity->unit : "?";
  const uint64_t factor = unit.empty()                 ? 1
                          : unit == "k" || unit == "K" ? 1000
                          : unit == "m" || unit == "M" ? 1'000'000
                                                       : 0;
  if (factor == 0 || (!quantity->whole && factor == 1))
    return BadQuantity("number", text, kExample);
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const auto scale = static_cast<double>(factor);
  const double product = std::round(quantity->value * scale);
  if (quantity->whole ? *quantity->whole > kMax / factor : product >= static_cast<double>(kMax))
    return OutOfRange(text, "too large", "give a smaller one");
  if (quantity->whole) return *quantity->whole * factor;
  // Backwards, as 1.001 * 1000 is not a whole number.
  if (product / scale != quantity->value) return BadQuantity("number", text, kExample);
  return static_cast<uint64_t>(product);
}

std::string EscapeForTerminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [c, length] = DecodeFirst(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (!Contains(kDeceptive, c)) {
      out.append(text.substr(0, length));
    } else if (c < 0x80) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    } else {
      out += fmt::format("\\u{{{:04x}}}", static_cast<uint32_t>(c));
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string EscapeJson(std::string json) {
  // Control characters of ASCII are escaped in every JSON, but for DEL; the blanks between are not.
  const auto plain = [](char c) { return static_cast<unsigned char>(c) < 0x7f; };
  if (std::ranges::all_of(json, plain)) return json;
  std::string out;
  out.reserve(json.size() + 16);
  std::string_view rest = json;
  while (!rest.empty()) {
    const auto [c, length] = DecodeFirst(rest);
    if (length == 0) {
      out += "\\ufffd";
      rest.remove_prefix(1);
      continue;
    }
    if (c < 0x7f || !Contains(kDeceptive, c)) {
      out.append(rest.substr(0, length));
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    } else {
      const uint32_t pair = static_cast<uint32_t>(c) - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (pair >> 10), 0xdc00 + (pair & 0x3ff));
    }
    rest.remove_prefix(length);
  }
  return out;
}

void Wipe(std::string& text) {
  text.resize(text.capacity());  // what was shortened is still there
  explicit_bzero(text.data(), text.size());
  text.clear();
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (static_cast<unsigned char>(text[0]) < 0x80) {  // nearly all of what we are asked about
      text.remove_prefix(1);
      continue;
    }
    const size_t length = DecodeFirst(text).second;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      ++width;
      text.remove_prefix(1);
      continue;
    }
    const auto [c, length] = DecodeFirst(text);
    width += Contains(kCombining, c) ? 0 : Contains(kWide, c) ? 2 : 1;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return width;
}

bool IsValidSandboxName(std::string_view name) {
  if (name.empty() || name.size() > 63 || name[0] < 'a' || name[0] > 'z') return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::AlignRight(size_t column) {
  if (right_.size() <= column) right_.resize(column + 1);
  right_[column] = true;
}

void Table::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = EscapeForTerminal(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Render(bool colour, std::string_view indent) const {
  std::vector<size_t> widths;
  const auto measure = [&widths](const std::vector<std::string>& cells) {
    if (widths.size() < cells.size()) widths.resize(cells.size());
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(cells[i]));
  };
  measure(header_);
  for (const auto& row : rows_) measure(row);

  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent);
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - DisplayWidth(cells[i]), ' ');
      if (i > 0) text += "  ";
      const bool right = i < right_.size() && right_[i];
      text += right ? padding + cells[i] : cells[i] + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string out;
  if (!header_.empty())
    out += colour ? "\x1b[1m" + line(header_) + "\x1b[0m\n" : line(header_) + "\n";
  for (const auto& row : rows_) out += line(row) + "\n";
  return out;
}

}  // namespace cloche
