#pragma once

#include <string>
#include <string_view>

// Characters as protocols and file formats know them: ASCII, whatever the locale.
namespace cloche {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }

constexpr char Lower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
inline std::string Lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = Lower(c);
  return lower;
}

constexpr std::string_view Trim(std::string_view text, std::string_view blanks = " \t\r\n") {
  const size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

constexpr std::string_view kHexDigits = "0123456789abcdef", kUpperHexDigits = "0123456789ABCDEF";

// -1: not a hex digit.
constexpr int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

inline std::string Hex(std::string_view bytes, std::string_view digits = kHexDigits) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += digits[static_cast<unsigned char>(c) >> 4];
    hex += digits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}
inline std::string Hex(const unsigned char* bytes, size_t size) {
  return Hex(std::string_view(reinterpret_cast<const char*>(bytes), size));
}

}  // namespace cloche
