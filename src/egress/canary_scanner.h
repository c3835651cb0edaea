#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "egress/canary_set.h"
#include "egress/escape_reader.h"

namespace cloche::egress {

struct CanaryHit {
  std::string name;
  std::string form;  // "base64", "hex, percent-encoded", "plain, gzip": what it was found as
};

// Looks for decoys in bytes as they come by, in any pieces: as they are, with their escapes
// decoded, and decoded twice.
class CanaryMatcher {
 public:
  explicit CanaryMatcher(std::shared_ptr<const CanarySet> set) : set_(std::move(set)) {}
  // The first hit in `bytes`, seen together with what came before.
  std::optional<CanaryHit> Feed(std::string_view bytes);

 private:
  CanaryHit Hit(uint16_t found, const char* how) const;
  // All three views are one, and stay so up to the next escape.
  bool IsPlain() const {
    return plain_ == once_ && plain_ == twice_ && escapes_.idle() && escapes_in_escapes_.idle();
  }

  std::shared_ptr<const CanarySet> set_;
  CanarySet::State plain_ = CanarySet::kStart, once_ = CanarySet::kStart,
                   twice_ = CanarySet::kStart;
  EscapeReader escapes_, escapes_in_escapes_;
};

class Inflater;

// The same for a whole stream, and for what is compressed in it: gzip, zlib and files in a zip are
// recognised by their first bytes, anywhere, also in base64. Unpacked bytes are not kept.
class CanaryScanner {
 public:
  explicit CanaryScanner(std::shared_ptr<const CanarySet> set);
  ~CanaryScanner();
  CanaryScanner(CanaryScanner&&) noexcept;

  // The stream begins with bytes that are compressed without a head (Content-Encoding: deflate).
  void ExpectRawDeflate();
  // True from the first hit on, or when it can be looked at no further.
  bool Feed(std::string_view bytes);
  const std::optional<CanaryHit>& hit() const { return hit_; }
  const char* trouble() const { return trouble_; }  // "" unless that is why

 private:
  struct Work {
    uint64_t in = 0, out = 0;  // of the stream, and of all that was unpacked of it
  };
  friend class Inflater;
  void Unpack(Inflater& inflater, std::string_view bytes);
  void Begin(std::string_view head, std::string_view rest);
  void LookForHeads(std::string_view bytes);

  std::shared_ptr<const CanarySet> set_;
  CanaryMatcher matcher_;
  std::array<std::unique_ptr<Inflater>, 16> inflaters_;
  std::string tail_;  // the last bytes: a head may begin in them
  std::optional<CanaryHit> hit_;
  const char* trouble_ = "";
  Work work_;
};

// Watches a connection for decoys. Once it has found one, the connection passes nothing more on.
class CanaryWatch {
 public:
  explicit CanaryWatch(const std::shared_ptr<const CanarySet>& set) : set_(set), stream_(set) {}
  void See(std::string_view bytes) {
    if (stream_.Feed(bytes)) Take(stream_);
  }
  // Of a message in it, whose bytes are framed or packed in the stream. True: it is over.
  bool See(CanaryScanner& message, std::string_view bytes) {
    if (message.Feed(bytes)) Take(message);
    return tripped();
  }
  CanaryScanner NewMessage() const { return CanaryScanner(set_); }
  bool tripped() const { return hit_.has_value() || *trouble_ != '\0'; }
  const std::optional<CanaryHit>& hit() const { return hit_; }
  const char* trouble() const { return trouble_; }
  const std::shared_ptr<const CanarySet>& set() const { return set_; }
  std::function<void()> on_held;  // something was not passed on

 private:
  void Take(const CanaryScanner& from) {
    if (tripped()) return;
    hit_ = from.hit();
    trouble_ = from.trouble();
  }
  std::shared_ptr<const CanarySet> set_;
  CanaryScanner stream_;
  std::optional<CanaryHit> hit_;
  const char* trouble_ = "";
};

// In one text, the dots of a name left out too.
std::optional<CanaryHit> FindCanary(const std::shared_ptr<const CanarySet>& set,
                                    std::string_view text);
// A name for the log: without the labels that spell a decoy.
std::string WithoutCanary(const std::shared_ptr<const CanarySet>& set, const std::string& name);

}  // namespace cloche::egress
