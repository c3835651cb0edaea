#include "egress/canary_scanner.h"

#include <string.h>
#include <zlib.h>

#include <algorithm>

namespace cloche::egress {
namespace {

constexpr size_t kMostInflating = 256;  // of one sandbox; each has a window of 32 KiB
constexpr uint64_t kFreeBytes = 1 << 20;
constexpr uint64_t kMostRatio = 100;
constexpr size_t kLongestHead = 4, kZlibHead = 2;

constexpr const char* kTooDense =
    "it is compressed more than 100 to 1: nobody can look for decoys in it";
constexpr const char* kTooMany =
    "too much is compressed at once: nobody can look for decoys in all of it";

enum class Packed : uint8_t { kNone, kGzip, kZlib, kZip };

struct Head {
  Packed packed = Packed::kNone;
  bool base64 = false;
};

bool IsOneOf(char c, std::string_view those) { return those.find(c) != those.npos; }

// The compression whose first bytes in base64 are these digits.
Packed Base64HeadAt(std::string_view bytes) {
  if (bytes.size() < 3) return Packed::kNone;
  if (bytes[0] == 'e') {
    const bool zlib = (bytes[1] == 'J' && IsOneOf(bytes[2], "wxyz")) ||
                      (bytes[1] == 'N' && IsOneOf(bytes[2], "opqr")) ||
                      (bytes[1] == 'A' && IsOneOf(bytes[2], "EFGH")) ||
                      (bytes[1] == 'F' && IsOneOf(bytes[2], "4567"));
    return zlib ? Packed::kZlib : Packed::kNone;
  }
  if (bytes.starts_with("H4sI")) return Packed::kGzip;
  return bytes.starts_with("UEsD") ? Packed::kZip : Packed::kNone;
}

// The compression that could begin here; kNone too when there are too few bytes to tell. zlib may
// have any window from 256 bytes to 32 KiB, but no preset dictionary, which nobody here could
// unpack.
Head HeadAt(std::string_view bytes) {
  if (bytes.size() < kZlibHead) return {};
  const auto first = static_cast<uint8_t>(bytes[0]), second = static_cast<uint8_t>(bytes[1]);
  if ((first & 0x8f) == 0x08 && (first << 8 | second) % 31 == 0 && (second & 0x20) == 0)
    return {Packed::kZlib};
  if (const Packed packed = Base64HeadAt(bytes); packed != Packed::kNone) return {packed, true};
  if (bytes.size() < kLongestHead) return {};
  if (bytes.starts_with("\x1f\x8b\x08") && (bytes[3] & 0xe0) == 0) return {Packed::kGzip};
  return {bytes.starts_with("PK\x03\x04") ? Packed::kZip : Packed::kNone};
}

// Most bytes begin nothing.
constexpr std::array<bool, 256> kBegins = [] {
  std::array<bool, 256> begins{};
  for (size_t first = 0x08; first < 0x80; first += 0x10) begins[first] = true;
  begins[0x1f] = begins['P'] = true;
  begins['e'] = begins['H'] = begins['U'] = true;
  return begins;
}();

constexpr int8_t kBlank = -1, kNoDigit = -2;
constexpr std::array<int8_t, 256> kBase64 = [] {
  std::array<int8_t, 256> values{};
  values.fill(kNoDigit);
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  values['-'] = 62;
  values['_'] = 63;
  values[' '] = values['\t'] = values['\r'] = values['\n'] = kBlank;
  return values;
}();

// Bytes out of base64 in which lines are broken and indented, and some of which may be escaped.
class Base64Reader {
 public:
  std::string Read(std::string_view text) {
    std::string bytes;
    for (const char c : text) {
      if (ended_) break;
      escapes_.Feed(static_cast<uint8_t>(c), [&](uint8_t byte) { Take(byte, bytes); });
    }
    return bytes;
  }
  bool ended() const { return ended_; }

 private:
  void Take(uint8_t byte, std::string& bytes) {
    const int8_t value = kBase64[byte];
    if (value == kBlank || ended_) return;
    if (value == kNoDigit) {
      ended_ = true;
      return;
    }
    bits_ = bits_ << 6 | static_cast<uint32_t>(value);
    count_ += 6;
    if (count_ < 8) return;
    count_ -= 8;
    bytes += static_cast<char>(bits_ >> count_);
  }

  EscapeReader escapes_;
  uint32_t bits_ = 0;
  int count_ = 0;
  bool ended_ = false;
};

int WindowOf(Packed packed) {
  return packed == Packed::kGzip   ? MAX_WBITS + 16
         : packed == Packed::kZlib ? MAX_WBITS
                                   : -MAX_WBITS;
}

const char* NameOf(Packed packed) {
  return packed == Packed::kGzip ? "gzip" : packed == Packed::kZip ? "zip" : "deflate";
}

}  // namespace

// One compressed stream. It dies at the first invalid byte: most bytes that look like a head are
// not.
class Inflater {
 public:
  Inflater(std::shared_ptr<const CanarySet> set, Head head)
      : what_(NameOf(head.packed)),
        in_zip_(head.packed == Packed::kZip),
        matcher_(set),
        set_(std::move(set)) {
    alive_ = inflateInit2(&stream_, WindowOf(head.packed)) == Z_OK;
    if (head.base64) base64_.emplace();
    ++set_->inflating;
  }
  ~Inflater() {
    inflateEnd(&stream_);
    --set_->inflating;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool alive() const { return alive_; }
  bool too_dense() const { return too_dense_; }

  // Unpacking is charged to the stream as a whole: heads that look alike share their bytes.
  std::optional<CanaryHit> Feed(std::string_view bytes, CanaryScanner::Work& work) {
    if (!base64_) return Inflate(bytes, work);
    auto hit = Inflate(base64_->Read(bytes), work);
    if (hit) hit->form += " in base64";
    if (base64_->ended()) alive_ = false;
    return hit;
  }

 private:
  std::optional<CanaryHit> Inflate(std::string_view bytes, CanaryScanner::Work& work) {
    static char out[16 << 10];
    if (in_zip_ && !EndsZipHead(bytes)) return std::nullopt;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    while (alive_) {
      stream_.next_out = reinterpret_cast<Bytef*>(out);
      stream_.avail_out = sizeof out;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const size_t made = sizeof out - stream_.avail_out;
      work.out += made;
      if (auto hit = matcher_.Feed(std::string_view(out, made))) {
        hit->form += std::string(", ") + what_;
        return hit;
      }
      if (result != Z_OK) alive_ = result == Z_BUF_ERROR;  // that is only: no more input
      if (work.out > kFreeBytes + kMostRatio * work.in) {
        too_dense_ = true;
        return std::nullopt;
      }
      if (result != Z_OK || (stream_.avail_in == 0 && stream_.avail_out > 0)) break;
    }
    return std::nullopt;
  }

  // Takes the head of a file in a zip off the front of `bytes`. False: there is nothing behind it
  // yet, or nothing to unpack.
  bool EndsZipHead(std::string_view& bytes) {
    constexpr size_t kHead = 30, kFlags = 6, kMethod = 8, kName = 26, kExtra = 28;
    const size_t taken = std::min(bytes.size(), kHead - zip_head_.size());
    zip_head_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (zip_head_.size() < kHead) return false;
    const auto number = [&](size_t at) {
      return static_cast<size_t>(static_cast<uint8_t>(zip_head_[at])) |
             static_cast<size_t>(static_cast<uint8_t>(zip_head_[at + 1])) << 8;
    };
    // Stored files are scanned as plain bytes anyway; encrypted ones cannot be read.
    if (number(kMethod) != 8 || (number(kFlags) & 1) != 0) alive_ = false;
    const size_t behind = number(kName) + number(kExtra) - zip_skipped_;
    const size_t skipped = std::min(bytes.size(), behind);
    zip_skipped_ += skipped;
    bytes.remove_prefix(skipped);
    in_zip_ = skipped < behind;
    return alive_ && !in_zip_;
  }

  std::optional<Base64Reader> base64_;  // in which it is
  const char* what_;
  bool in_zip_;  // its head is being read
  std::string zip_head_;
  size_t zip_skipped_ = 0;  // of the name and more that follow it
  CanaryMatcher matcher_;
  std::shared_ptr<const CanarySet> set_;
  z_stream stream_{};
  bool alive_ = false, too_dense_ = false;
};

CanaryHit CanaryMatcher::Hit(uint16_t found, const char* how) const {
  constexpr const char* kForms[] = {"plain", "lower case", "base64", "hex"};
  return {set_->NameOf(found), std::string(kForms[static_cast<size_t>(set_->FormOf(found))]) + how};
}

std::optional<CanaryHit> CanaryMatcher::Feed(std::string_view bytes) {
  size_t percent = 0, backslash = 0;  // the next ones, once they have been looked for
  const auto next = [&](char c, size_t at, size_t& known) {
    if (at == 0 || known < at) known = std::min(bytes.find(c, at), bytes.size());
    return known;
  };
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (IsPlain()) {
      const size_t end = std::min(next('%', at, percent), next('\\', at, backslash));
      CanarySet::State state = plain_;
      for (; at < end; ++at) {
        state = set_->Step(state, static_cast<uint8_t>(bytes[at]));
        if (const uint16_t found = set_->FoundAt(state)) [[unlikely]]
          return Hit(found, "");
      }
      plain_ = once_ = twice_ = state;
      if (at == bytes.size()) break;
    }
    const auto byte = static_cast<uint8_t>(bytes[at]);
    plain_ = set_->Step(plain_, byte);
    if (const uint16_t found = set_->FoundAt(plain_)) return Hit(found, "");
    std::optional<CanaryHit> hit;
    escapes_.Feed(byte, [&](uint8_t meant) {
      once_ = set_->Step(once_, meant);
      if (const uint16_t found = set_->FoundAt(once_); found != 0 && !hit)
        hit = Hit(found, escapes_.kind() == '%' ? ", percent-encoded" : ", JSON escapes");
      escapes_in_escapes_.Feed(meant, [&](uint8_t again) {
        twice_ = set_->Step(twice_, again);
        if (const uint16_t found = set_->FoundAt(twice_); found != 0 && !hit)
          hit = Hit(found, ", escaped twice");
      });
    });
    if (hit) return hit;
  }
  return std::nullopt;
}

CanaryScanner::CanaryScanner(std::shared_ptr<const CanarySet> set)
    : set_(set), matcher_(std::move(set)) {}
CanaryScanner::~CanaryScanner() = default;
CanaryScanner::CanaryScanner(CanaryScanner&&) noexcept = default;

void CanaryScanner::ExpectRawDeflate() {
  if (set_->inflating < kMostInflating)
    inflaters_[0] = std::make_unique<Inflater>(set_, Head{});
  else
    trouble_ = kTooMany;
}

void CanaryScanner::Unpack(Inflater& inflater, std::string_view bytes) {
  if (auto hit = inflater.Feed(bytes, work_)) hit_ = std::move(hit);
  if (inflater.too_dense()) trouble_ = kTooDense;
}

void CanaryScanner::Begin(std::string_view head, std::string_view rest) {
  const Head found = HeadAt(head.empty() ? rest : head);
  const auto free = std::find(inflaters_.begin(), inflaters_.end(), nullptr);
  if (free == inflaters_.end() || set_->inflating >= kMostInflating) {
    trouble_ = kTooMany;
    return;
  }
  *free = std::make_unique<Inflater>(set_, found);
  Unpack(**free, head);
  if ((*free)->alive() && !hit_) Unpack(**free, rest);
  if (!(*free)->alive()) free->reset();
}

void CanaryScanner::LookForHeads(std::string_view bytes) {
  const auto over = [&] { return hit_.has_value() || *trouble_ != '\0'; };
  // Heads that began before, with too few bytes to be recognised.
  const std::string joint = tail_ + std::string(bytes.substr(0, kLongestHead - 1));
  for (size_t at = 0; at < tail_.size() && !over(); ++at) {
    const std::string_view from = std::string_view(joint).substr(at);
    if (HeadAt(std::string_view(tail_).substr(at)).packed == Packed::kNone &&
        HeadAt(from).packed != Packed::kNone)
      Begin(from, bytes.substr(joint.size() - tail_.size()));
  }
  for (size_t at = 0; at < bytes.size() && !over(); ++at) {
    if (kBegins[static_cast<uint8_t>(bytes[at])] &&
        HeadAt(bytes.substr(at)).packed != Packed::kNone)
      Begin("", bytes.substr(at));
  }
  constexpr size_t kKept = kLongestHead - 1;
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kKept));
  tail_.erase(0, tail_.size() - std::min(tail_.size(), kKept));
}

bool CanaryScanner::Feed(std::string_view bytes) {
  if (hit_ || *trouble_ != '\0') return true;
  hit_ = matcher_.Feed(bytes);
  work_.in += bytes.size();
  for (auto& each : inflaters_) {
    if (hit_ || *trouble_ != '\0' || each == nullptr) continue;
    Unpack(*each, bytes);
    if (!each->alive()) each.reset();
  }
  if (!hit_ && *trouble_ == '\0') LookForHeads(bytes);
  return hit_ || *trouble_ != '\0';
}

std::optional<CanaryHit> FindCanary(const std::shared_ptr<const CanarySet>& set,
                                    std::string_view text) {
  if (auto hit = CanaryMatcher(set).Feed(text)) return hit;
  std::string joined(text);
  std::erase(joined, '.');
  return CanaryMatcher(set).Feed(joined);
}

std::string WithoutCanary(const std::shared_ptr<const CanarySet>& set, const std::string& name) {
  std::string shown = name;
  while (!shown.empty() && FindCanary(set, shown)) {
    const size_t dot = shown.find('.');
    shown.erase(0, dot == shown.npos ? shown.size() : dot + 1);
  }
  return shown == name ? name : "..." + shown;
}

}  // namespace cloche::egress
