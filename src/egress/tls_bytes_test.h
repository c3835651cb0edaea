#pragma once

#include <string>

// TLS as tests write it.
namespace cloche::egress {

inline std::string Number(size_t value, int width) {
  std::string out;
  for (int i = width - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
  return out;
}
inline std::string Vector(const std::string& bytes, int width) {
  return Number(bytes.size(), width) + bytes;
}
inline std::string Extension(size_t type, const std::string& content) {
  return Number(type, 2) + Vector(content, 2);
}
inline std::string Record(const std::string& content, char type = 22) {
  return std::string(1, type) + "\x03\x03" + Vector(content, 2);
}

}  // namespace cloche::egress
