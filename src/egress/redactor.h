#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::egress {

// Values that must not come back, in the spellings they could come back in, as one automaton: a
// byte of text is a step, however many and however long they are. Shared by all who look for them.
class Needles {
 public:
  explicit Needles(const std::vector<std::string>& values);
  ~Needles();
  Needles(const Needles&) = delete;
  Needles& operator=(const Needles&) = delete;

  bool empty() const { return text_.size() == 1; }
  // Of memory, for each Redactor: what it holds back, every character of the longest as \u00XX, and
  // where the escapes in it are, in two views.
  size_t most_held() const { return (6 + 2 * kEscapeBytes) * longest_; }

 private:
  friend class Redactor;
  static constexpr size_t kEscapeBytes = 16;
  void Add(std::string_view needle);
  void Link();
  // Is it a child of the node before it? They are added in order: elsewhere nothing is deeper.
  bool Follows(uint32_t node) const { return depth_[node] == depth_[node - 1] + 1; }
  uint32_t Child(uint32_t node, char byte) const;
  uint32_t Next(uint32_t node, char byte) const;

  // Of each node, in lists of their own, for most are one of a long row: the byte that leads to it;
  // where to continue when the next byte does not match; how deep it is; how long the longest
  // needle is that ends here.
  std::string text_;
  std::vector<uint32_t> fail_;
  std::vector<uint16_t> depth_, ends_;
  std::vector<bool> forks_;                // it has children elsewhere, too
  std::map<uint64_t, uint32_t> branches_;  // these, by parent and byte
  std::array<uint32_t, 256> first_{};
  std::array<bool, 256> begins_{};  // a needle, or an escape
  size_t longest_ = 0;
};

// Covers secrets in answers with stars: values as they are, in hex, in base64 at any offset (after
// a user and a colon, say), and all of these with any of their characters escaped as in JSON or as
// in URLs. The number of bytes does not change, so that nothing else changes.
class Redactor {
 public:
  explicit Redactor(std::shared_ptr<const Needles> needles);
  std::string Feed(std::string_view bytes);  // what is sure; the rest waits for more
  std::string End();
  bool found() const { return found_; }  // something was covered
  // `found` is set when something was covered, and left alone when not.
  static std::string All(const std::shared_ptr<const Needles>& needles, std::string_view text,
                         bool& found);
  static std::string All(const std::shared_ptr<const Needles>& needles, std::string_view text) {
    bool found = false;
    return All(needles, text, found);
  }

 private:
  // The text as a reader of one kind of escapes sees it. Without escapes it equals the plain text,
  // and need not be looked at.
  struct View {
    struct Escape {
      uint64_t symbol;  // its number
      uint64_t extra;   // bytes beyond one for each symbol, through this one
    };
    static_assert(sizeof(Escape) == Needles::kEscapeBytes);
    bool apart = false;
    uint32_t node = 0;
    uint64_t symbols = 0;        // read since it is apart
    uint64_t end = 0;            // behind the last of them
    std::deque<Escape> escapes;  // in what may be the beginning of a needle
    uint64_t extra_before = 0;   // of those that are no longer in it
    std::string begun;           // an escape that is not whole yet
  };
  enum class Escaped : uint8_t { kMore, kDone, kNone };
  static Escaped ReadJson(std::string_view text, char& symbol);
  static Escaped ReadPercent(std::string_view text, char& symbol);
  using Reader = Escaped (*)(std::string_view text, char& symbol);

  void Look(char byte, uint64_t at);
  void Read(View& view, Reader reader, char byte, uint64_t at);
  void Step(View& view, char symbol, uint64_t size);
  uint64_t Begin(const View& view, uint64_t symbols) const;
  uint64_t Unsure() const;
  void Cover(uint64_t begin, uint64_t end);
  std::string Take(uint64_t end);

  struct Range {
    uint64_t begin, end;
  };
  std::shared_ptr<const Needles> needles_;
  uint32_t plain_ = 0;  // of the text as it is written
  View json_, percent_;
  std::string held_;  // from `at_` on
  uint64_t at_ = 0;
  std::deque<Range> stars_;
  bool found_ = false;
};

std::string EncodeBase64(std::string_view bytes);
bool DecodeBase64(std::string_view text, std::string& bytes);
std::string PercentEncoded(std::string_view bytes);
std::string JsonText(std::string_view value);

}  // namespace cloche::egress
