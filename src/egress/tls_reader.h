#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cloche::egress {

// Reads numbers and vectors of TLS off the front; once something is missing, all is.
class TlsReader {
 public:
  explicit TlsReader(std::string_view bytes) : rest_(bytes) {}
  size_t Number(size_t width) {
    size_t value = 0;
    for (const char byte : Take(width)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  std::string_view Take(size_t size) {
    if (size > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view Vector(size_t width) { return Take(Number(width)); }
  bool good() const { return good_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace cloche::egress
