#include "egress/canary_scanner.h"

#include <string.h>
#include <zlib.h>

#include <algorithm>

namespace cloche::egress {
namespace {

constexpr size_t kMostInflating = 256;  // of one sandbox; each has a window of 32 KiB
constexpr uint64_t kFreeBytes = 1 << 20;
constexpr uint64_t kMostRatio = 100;
constexpr size_t kGzipHead = 4, kZlibHead = 2;

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

bool IsGzip(const char* bytes) {
  return bytes[0] == '\x1f' && bytes[1] == '\x8b' && bytes[2] == '\x08' && (bytes[3] & 0xe0) == 0;
}

bool IsZlib(const char* bytes) {
  return bytes[0] == 'x' &&
         (bytes[1] == '\x01' || bytes[1] == '\x5e' || bytes[1] == '\x9c' || bytes[1] == '\xda');
}

}  // namespace

// One compressed stream. It dies of what is none: most of what looks like a head is not.
class Inflater {
 public:
  Inflater(std::shared_ptr<const CanarySet> set, int window, const char* what)
      : what_(what), matcher_(set), set_(std::move(set)) {
    alive_ = inflateInit2(&stream_, window) == Z_OK;
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
  const char* what_;
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
    inflaters_[0] = std::make_unique<Inflater>(set_, -MAX_WBITS, "deflate");
  else
    trouble_ = kTooMany;
}

void CanaryScanner::Unpack(Inflater& inflater, std::string_view bytes) {
  if (auto hit = inflater.Feed(bytes, work_)) hit_ = std::move(hit);
  if (inflater.too_dense()) trouble_ = kTooDense;
}

void CanaryScanner::Begin(bool gzip, std::string_view head, std::string_view rest) {
  const auto free = std::find(inflaters_.begin(), inflaters_.end(), nullptr);
  if (free == inflaters_.end() || set_->inflating >= kMostInflating) {
    trouble_ = kTooMany;
    return;
  }
  *free = std::make_unique<Inflater>(set_, gzip ? MAX_WBITS + 16 : MAX_WBITS,
                                     gzip ? "gzip" : "deflate");
  Unpack(**free, head);
  if ((*free)->alive() && !hit_) Unpack(**free, rest);
  if (!(*free)->alive()) free->reset();
}

void CanaryScanner::LookForHeads(std::string_view bytes) {
  // Those that began before.
  const size_t before = tail_.size();
  const std::string joint = tail_ + std::string(bytes.substr(0, kGzipHead - 1));
  const auto over = [&] { return hit_.has_value() || *trouble_ != '\0'; };
  for (size_t at = 0; at < before && !over(); ++at) {
    const size_t left = joint.size() - at;
    if (left >= kGzipHead && at + kGzipHead > before && IsGzip(joint.data() + at))
      Begin(true, std::string_view(tail_).substr(at), bytes);
    if (left >= kZlibHead && at + kZlibHead > before && IsZlib(joint.data() + at))
      Begin(false, std::string_view(tail_).substr(at), bytes);
  }
  for (const char first : {'\x1f', 'x'}) {
    const size_t size = first == 'x' ? kZlibHead : kGzipHead;
    for (size_t at = 0; !over() && at + size <= bytes.size(); ++at) {
      const void* found = memchr(bytes.data() + at, first, bytes.size() - at - size + 1);
      if (found == nullptr) break;
      at = static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
      if (first == 'x' ? IsZlib(bytes.data() + at) : IsGzip(bytes.data() + at))
        Begin(first != 'x', "", bytes.substr(at));
    }
  }
  constexpr size_t kKept = kGzipHead - 1;
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
