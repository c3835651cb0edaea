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

int HexDigit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Packed : uint8_t { kNone, kGzip, kZlib, kZip };

// What could begin here; kNone too when there are too few bytes to tell. Of zlib any window will
// do, from 256 bytes to 32 KiB; what needs a dictionary nobody here can unpack.
Packed HeadAt(std::string_view bytes) {
  if (bytes.size() < kZlibHead) return Packed::kNone;
  const auto first = static_cast<uint8_t>(bytes[0]), second = static_cast<uint8_t>(bytes[1]);
  if ((first & 0x8f) == 0x08 && (first << 8 | second) % 31 == 0 && (second & 0x20) == 0)
    return Packed::kZlib;
  if (bytes.size() < kLongestHead) return Packed::kNone;
  if (bytes.starts_with("\x1f\x8b\x08") && (bytes[3] & 0xe0) == 0) return Packed::kGzip;
  return bytes.starts_with("PK\x03\x04") ? Packed::kZip : Packed::kNone;
}

// Most bytes begin nothing.
constexpr std::array<bool, 256> kBegins = [] {
  std::array<bool, 256> begins{};
  for (size_t first = 0x08; first < 0x80; first += 0x10) begins[first] = true;
  begins[0x1f] = begins['P'] = true;
  return begins;
}();

int WindowOf(Packed packed) {
  return packed == Packed::kGzip   ? MAX_WBITS + 16
         : packed == Packed::kZlib ? MAX_WBITS
                                   : -MAX_WBITS;
}

const char* NameOf(Packed packed) {
  return packed == Packed::kGzip ? "gzip" : packed == Packed::kZip ? "zip" : "deflate";
}

}  // namespace

// One compressed stream. It dies of what is none: most of what looks like a head is not.
class Inflater {
 public:
  Inflater(std::shared_ptr<const CanarySet> set, Packed packed)
      : what_(NameOf(packed)),
        in_zip_(packed == Packed::kZip),
        matcher_(set),
        set_(std::move(set)) {
    alive_ = inflateInit2(&stream_, WindowOf(packed)) == Z_OK;
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

  // What is unpacked is paid for by the stream as a whole: heads that look alike share their bytes.
  std::optional<CanaryHit> Feed(std::string_view bytes, CanaryScanner::Work& work) {
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

 private:
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
    // What is only stored is there for all to see; what is encrypted is not.
    if (number(kMethod) != 8 || (number(kFlags) & 1) != 0) alive_ = false;
    const size_t behind = number(kName) + number(kExtra) - zip_skipped_;
    const size_t skipped = std::min(bytes.size(), behind);
    zip_skipped_ += skipped;
    bytes.remove_prefix(skipped);
    in_zip_ = skipped < behind;
    return alive_ && !in_zip_;
  }

  const char* what_;
  bool in_zip_;  // its head is being read
  std::string zip_head_;
  size_t zip_skipped_ = 0;  // of the name and more that follow it
  CanaryMatcher matcher_;
  std::shared_ptr<const CanarySet> set_;
  z_stream stream_{};
  bool alive_ = false, too_dense_ = false;
};

std::optional<CanaryHit> CanaryMatcher::Found(CanarySet::State state, bool decoded) const {
  const uint16_t found = set_->FoundAt(state);
  if (found == 0) return std::nullopt;
  constexpr const char* kForms[] = {"plain", "lower case", "base64", "hex"};
  CanaryHit hit{set_->NameOf(found), kForms[static_cast<size_t>(set_->FormOf(found))]};
  if (decoded) hit.form += ", percent-encoded";
  return hit;
}

// Steps the decoded view over one byte that is no part of an escape, or over what one meant.
CanarySet::State CanaryMatcher::FeedDecoded(uint8_t byte) {
  if (byte != '\r' && byte != '\n') decoded_ = set_->Step(decoded_, byte);
  return decoded_;
}

std::optional<CanaryHit> CanaryMatcher::Feed(std::string_view bytes) {
  // Without an escape both views are one.
  if (percent_ == 0 && plain_ == decoded_ && bytes.find('%') == bytes.npos) {
    CanarySet::State state = plain_;
    for (const char c : bytes) {
      if (c == '\r' || c == '\n') continue;
      state = set_->Step(state, static_cast<uint8_t>(c));
      if (set_->FoundAt(state) != 0) [[unlikely]]
        return Found(state, false);
    }
    plain_ = decoded_ = state;
    return std::nullopt;
  }
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (c != '\r' && c != '\n') plain_ = set_->Step(plain_, byte);
    if (auto hit = Found(plain_, false)) return hit;
    CanarySet::State state = decoded_;
    const int digit = HexDigit(byte);
    if (percent_ == 1 && digit >= 0) {
      percent_ = 2;
      digit_ = byte;
      continue;
    }
    if (percent_ == 2 && digit >= 0) {
      percent_ = 0;
      state = FeedDecoded(static_cast<uint8_t>(HexDigit(digit_) << 4 | digit));
    } else {
      // What was no escape meant itself.
      if (percent_ > 0) state = FeedDecoded('%');
      if (percent_ == 2) state = FeedDecoded(digit_);
      percent_ = c == '%' ? 1 : 0;
      if (percent_ == 0) state = FeedDecoded(byte);
    }
    if (auto hit = Found(state, true)) return hit;
  }
  return std::nullopt;
}

CanaryScanner::CanaryScanner(std::shared_ptr<const CanarySet> set)
    : set_(set), matcher_(std::move(set)) {}
CanaryScanner::~CanaryScanner() = default;
CanaryScanner::CanaryScanner(CanaryScanner&&) noexcept = default;

void CanaryScanner::ExpectRawDeflate() {
  if (set_->inflating < kMostInflating)
    inflaters_[0] = std::make_unique<Inflater>(set_, Packed::kNone);
  else
    trouble_ = kTooMany;
}

void CanaryScanner::Unpack(Inflater& inflater, std::string_view bytes) {
  if (auto hit = inflater.Feed(bytes, work_)) hit_ = std::move(hit);
  if (inflater.too_dense()) trouble_ = kTooDense;
}

void CanaryScanner::Begin(std::string_view head, std::string_view rest) {
  const Packed packed = HeadAt(head.empty() ? rest : head);
  const auto free = std::find(inflaters_.begin(), inflaters_.end(), nullptr);
  if (free == inflaters_.end() || set_->inflating >= kMostInflating) {
    trouble_ = kTooMany;
    return;
  }
  *free = std::make_unique<Inflater>(set_, packed);
  Unpack(**free, head);
  if ((*free)->alive() && !hit_) Unpack(**free, rest);
  if (!(*free)->alive()) free->reset();
}

void CanaryScanner::LookForHeads(std::string_view bytes) {
  const auto over = [&] { return hit_.has_value() || *trouble_ != '\0'; };
  // Those that began before, and could not be told yet.
  const std::string joint = tail_ + std::string(bytes.substr(0, kLongestHead - 1));
  for (size_t at = 0; at < tail_.size() && !over(); ++at) {
    const std::string_view from = std::string_view(joint).substr(at);
    if (HeadAt(std::string_view(tail_).substr(at)) == Packed::kNone &&
        HeadAt(from) != Packed::kNone)
      Begin(from, bytes.substr(joint.size() - tail_.size()));
  }
  for (size_t at = 0; at < bytes.size() && !over(); ++at) {
    if (kBegins[static_cast<uint8_t>(bytes[at])] && HeadAt(bytes.substr(at)) != Packed::kNone)
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
