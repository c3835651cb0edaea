#include "change/model/binary_patch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace cloche::change {
namespace {

constexpr char kDigits[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
static_assert(sizeof kDigits == 86);
constexpr size_t kLine = 52;       // bytes
constexpr size_t kBlock = 65'535;  // of an uncompressed stream

// Lines of up to 52 bytes: the length as a letter, then five digits per four bytes.
class Lines {
 public:
  explicit Lines(const std::function<bool(std::string_view)>& sink) : sink_(sink) {}

  bool Put(std::string_view bytes) {
    for (; !bytes.empty() && wanted_;) {
      const size_t taken = std::min(kLine - line_.size(), bytes.size());
      line_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (line_.size() == kLine) End();
    }
    return wanted_;
  }

  void End() {
    if (line_.empty()) return;
    const size_t count = line_.size();
    std::string text(1, static_cast<char>(count <= 26 ? 'A' + count - 1 : 'a' + count - 27));
    line_.resize((count + 3) / 4 * 4);
    for (size_t at = 0; at < line_.size(); at += 4) {
      uint32_t word = 0;
      for (size_t i = 0; i < 4; ++i) word = word << 8 | static_cast<unsigned char>(line_[at + i]);
      char digits[5];
      for (int i = 4; i >= 0; --i, word /= 85) digits[i] = kDigits[word % 85];
      text.append(digits, sizeof digits);
    }
    line_.clear();
    wanted_ = wanted_ && sink_(text + "\n");
  }

 private:
  const std::function<bool(std::string_view)>& sink_;
  std::string line_;
  bool wanted_ = true;
};

uint32_t Adler32(std::string_view bytes) {
  uint32_t one = 1, two = 0;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, 5552);  // as many as 32 bits can sum
    for (const char c : piece) two += one += static_cast<unsigned char>(c);
    one %= 65'521;
    two %= 65'521;
    bytes.remove_prefix(piece.size());
  }
  return two << 16 | one;
}

}  // namespace

bool WriteLiteral(std::string_view content, const std::function<bool(std::string_view)>& sink) {
  if (!sink(fmt::format("literal {}\n", content.size()))) return false;
  Lines lines(sink);
  lines.Put("\x78\x01");
  std::string_view rest = content;
  do {
    const std::string_view block = rest.substr(0, kBlock);
    rest.remove_prefix(block.size());
    const auto size = static_cast<uint16_t>(block.size()), other = static_cast<uint16_t>(~size);
    const char head[] = {static_cast<char>(rest.empty()), static_cast<char>(size),
                         static_cast<char>(size >> 8), static_cast<char>(other),
                         static_cast<char>(other >> 8)};
    lines.Put({head, sizeof head});
    if (!lines.Put(block)) return false;
  } while (!rest.empty());
  const uint32_t sum = Adler32(content);
  const char tail[] = {static_cast<char>(sum >> 24), static_cast<char>(sum >> 16),
                       static_cast<char>(sum >> 8), static_cast<char>(sum)};
  lines.Put({tail, sizeof tail});
  lines.End();
  return sink("\n");
}

}  // namespace cloche::change
