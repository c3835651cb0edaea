#include "egress/redactor.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/text.h"
#include "egress/secret_limits.h"

namespace cloche::egress {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kSpellings = 24;      // of one value
constexpr size_t kShortestNeedle = 6;  // shorter ones would cover half of every page
constexpr char kNoSymbol = '\xff';     // of an escape that stands for nothing we look for

size_t Index(char byte) { return static_cast<unsigned char>(byte); }

// The base64 of `value` after `before` more bytes (modulo 3): with something behind it, at the end,
// and there with padding. Digits that also depend on other bytes are left out.
std::array<std::string, 3> InBase64(std::string_view value, size_t before) {
  std::string shifted(before, '\0');
  shifted.reserve(before + value.size());
  shifted += value;
  std::string all = EncodeBase64(shifted);
  const size_t first = (before * 8 + 5) / 6, last = (before + value.size()) * 8 / 6;
  const size_t end = all.find_last_not_of('=') + 1;
  std::array<std::string, 3> spelled = {all.substr(first, last - first),
                                        all.substr(first, end - first), all.substr(first)};
  Wipe(shifted);
  Wipe(all);
  return spelled;
}

// All needles, sorted, so that a prefix of another stands right before it.
std::vector<std::string> Spellings(const std::vector<std::string>& values) {
  std::vector<std::string> all;
  all.reserve(kSpellings * values.size());  // what grows leaves copies behind
  for (const std::string& value : values) {
    std::string hex = Hex(value), upper = Hex(value, kUpperHexDigits);
    std::string form = value;  // as forms write blanks
    std::replace(form.begin(), form.end(), ' ', '+');
    std::string json = JsonText(value), percent = PercentEncoded(value);
    all.push_back(value);
    for (std::string* each : {&form, &hex, &upper, &json, &percent}) {
      all.push_back(*each);
      Wipe(*each);
    }
    for (size_t before = 0; before < 3; ++before) {
      for (std::string& each : InBase64(value, before)) {
        all.push_back(each);
        std::replace(each.begin(), each.end(), '+', '-');
        std::replace(each.begin(), each.end(), '/', '_');
        all.push_back(each);
        Wipe(each);
      }
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

uint64_t Branch(uint32_t node, char byte) { return uint64_t{node} << 8 | Index(byte); }

}  // namespace

Needles::Needles(const std::vector<std::string>& values) {
  std::vector<std::string> all = Spellings(values);
  size_t most = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool in_next = i + 1 < all.size() && all[i + 1].starts_with(all[i]);
    if (!in_next) most += all[i].size();
  }
  // Reserve once, since growing leaves copies behind. Unused room costs no memory yet.
  text_.reserve(most);
  fail_.reserve(most);
  depth_.reserve(most);
  ends_.reserve(most);
  text_.push_back('\0');
  depth_.push_back(0);
  ends_.push_back(0);
  forks_.push_back(false);
  for (std::string& each : all) {
    Add(each);
    Wipe(each);
  }
  Link();
}

Needles::~Needles() { Wipe(text_); }

void Needles::Add(std::string_view needle) {
  if (needle.size() < kShortestNeedle) return;
  static_assert(6 * kLongestValue <= UINT16_MAX);  // no spelling of the longest value is longer
  if (needle.size() > UINT16_MAX) std::terminate();
  longest_ = std::max(longest_, needle.size());
  uint32_t node = 0;
  for (const char byte : needle) {
    uint32_t next = node == 0 ? first_[Index(byte)] : Child(node, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(text_.size());
      const bool follows = node + 1 == next;
      text_.push_back(byte);
      depth_.push_back(static_cast<uint16_t>(depth_[node] + 1));
      ends_.push_back(0);
      forks_.push_back(false);
      if (node == 0) first_[Index(byte)] = next;
      if (!follows) {
        forks_[node] = true;
        branches_[Branch(node, byte)] = next;
      }
    }
    node = next;
  }
  ends_[node] = depth_[node];
}

// By depth: a node falls back to one above it.
void Needles::Link() {
  fail_.resize(text_.size());
  std::vector<uint32_t> level{0}, below;
  const auto link = [&](uint32_t node, uint32_t child) {
    below.push_back(child);
    fail_[child] = node == 0 ? 0 : Next(fail_[node], text_[child]);
    if (ends_[child] == 0) ends_[child] = ends_[fail_[child]];
  };
  for (; !level.empty(); level.swap(below), below.clear()) {
    for (const uint32_t node : level) {
      if (node + 1 < text_.size() && Follows(node + 1)) link(node, node + 1);
      if (!forks_[node]) continue;
      for (auto at = branches_.lower_bound(Branch(node, '\0'));
           at != branches_.end() && at->first >> 8 == node; ++at)
        link(node, at->second);
    }
  }
  for (size_t byte = 0; byte < 256; ++byte) begins_[byte] = first_[byte] != 0;
  begins_[Index('\\')] = begins_[Index('%')] = true;
}

uint32_t Needles::Child(uint32_t node, char byte) const {
  const uint32_t next = node + 1;
  if (next < text_.size() && text_[next] == byte && Follows(next)) return next;
  if (!forks_[node]) return 0;
  const auto found = branches_.find(Branch(node, byte));
  return found == branches_.end() ? 0 : found->second;
}

uint32_t Needles::Next(uint32_t node, char byte) const {
  for (; node != 0; node = fail_[node]) {
    if (const uint32_t child = Child(node, byte)) return child;
  }
  return first_[Index(byte)];
}

Redactor::Redactor(std::shared_ptr<const Needles> needles) : needles_(std::move(needles)) {}

Redactor::Escaped Redactor::ReadJson(std::string_view text, char& symbol) {
  if (text.size() == 1) return Escaped::kMore;
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (text[1] != 'u') {
    const size_t known = kLetters.find(text[1]);
    if (known == kLetters.npos) return Escaped::kNone;
    symbol = kMeanings[known];
    return Escaped::kDone;
  }
  int code = 0;
  for (const char c : text.substr(2)) {
    if (HexDigit(c) < 0) return Escaped::kNone;
    code = code << 4 | HexDigit(c);
  }
  if (text.size() < 6) return Escaped::kMore;
  symbol = code < 0x80 ? static_cast<char>(code) : kNoSymbol;
  return Escaped::kDone;
}

Redactor::Escaped Redactor::ReadPercent(std::string_view text, char& symbol) {
  int code = 0;
  for (const char c : text.substr(1)) {
    if (HexDigit(c) < 0) return Escaped::kNone;
    code = code << 4 | HexDigit(c);
  }
  if (text.size() < 3) return Escaped::kMore;
  symbol = static_cast<char>(code);
  return Escaped::kDone;
}

void Redactor::Look(char byte, uint64_t at) {
  for (View* view : {&json_, &percent_}) {
    if (view->apart || byte != (view == &json_ ? '\\' : '%')) continue;
    *view = {.apart = true, .node = plain_, .end = at};
  }
  plain_ = needles_->Next(plain_, byte);
  if (const uint32_t size = needles_->ends_[plain_]) Cover(at + 1 - size, at + 1);
  if (json_.apart) Read(json_, ReadJson, byte, at);
  if (percent_.apart) Read(percent_, ReadPercent, byte, at);
}

void Redactor::Read(View& view, Reader reader, char byte, uint64_t at) {
  const char mark = reader == ReadJson ? '\\' : '%';
  view.begun += byte;
  while (!view.begun.empty()) {
    char symbol = view.begun[0];
    size_t size = 1;
    if (symbol == mark) {
      const Escaped escaped = reader(view.begun, symbol);
      if (escaped == Escaped::kMore) return;
      if (escaped == Escaped::kDone) size = view.begun.size();
      if (escaped == Escaped::kNone) symbol = mark;
    }
    Step(view, symbol, size);
    view.begun.erase(0, size);
  }
  // From here it reads the same as the plain view again.
  if (view.node == plain_ && view.escapes.empty() && view.end == at + 1) view = {};
}

void Redactor::Step(View& view, char symbol, uint64_t size) {
  ++view.symbols;
  view.end += size;
  if (size > 1) {
    const uint64_t before = view.escapes.empty() ? view.extra_before : view.escapes.back().extra;
    view.escapes.push_back({view.symbols, before + size - 1});
  }
  view.node = needles_->Next(view.node, symbol);
  const uint64_t depth = needles_->depth_[view.node], ends = needles_->ends_[view.node];
  while (!view.escapes.empty() && view.escapes.front().symbol + depth <= view.symbols) {
    view.extra_before = view.escapes.front().extra;
    view.escapes.pop_front();
  }
  if (ends != 0) Cover(Begin(view, ends), view.end);
}

// Where the last `symbols` of it begin.
uint64_t Redactor::Begin(const View& view, uint64_t symbols) const {
  if (view.escapes.empty()) return view.end - symbols;
  // The number of the first may be below one: it was read before the view was apart.
  const auto first = std::partition_point(
      view.escapes.begin(), view.escapes.end(),
      [&](const View::Escape& each) { return each.symbol + symbols <= view.symbols; });
  const uint64_t before = first == view.escapes.begin() ? view.extra_before : (first - 1)->extra;
  return view.end - symbols - (view.escapes.back().extra - before);
}

// From here on a needle may have begun.
uint64_t Redactor::Unsure() const {
  const uint64_t end = at_ + held_.size();
  uint64_t unsure = end - needles_->depth_[plain_];
  for (const View* view : {&json_, &percent_}) {
    if (view->apart) unsure = std::min(unsure, Begin(*view, needles_->depth_[view->node]));
  }
  return unsure;
}

// Ends come in order, except for the few bytes of an invalid escape.
void Redactor::Cover(uint64_t begin, uint64_t end) {
  found_ = true;
  auto at = stars_.end();
  while (at != stars_.begin() && (at - 1)->begin > end) --at;
  while (at != stars_.begin() && (at - 1)->end >= begin) {
    --at;
    begin = std::min(begin, at->begin);
    end = std::max(end, at->end);
    at = stars_.erase(at);
  }
  stars_.insert(at, {begin, end});
}

std::string Redactor::Take(uint64_t end) {
  std::string out = held_.substr(0, end - at_);
  for (; !stars_.empty() && stars_.front().begin < end; stars_.pop_front()) {
    Range& stars = stars_.front();
    const uint64_t last = std::min(stars.end, end);
    std::fill(out.begin() + static_cast<ptrdiff_t>(stars.begin - at_),
              out.begin() + static_cast<ptrdiff_t>(last - at_), '*');
    stars.begin = last;
    if (last < stars.end) break;
  }
  held_.erase(0, end - at_);
  at_ = end;
  return out;
}

std::string Redactor::Feed(std::string_view bytes) {
  const uint64_t from = at_ + held_.size();
  held_ += bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool idle = plain_ == 0 && !json_.apart && !percent_.apart;
    if (idle && !needles_->begins_[Index(bytes[i])]) continue;
    Look(bytes[i], from + i);
  }
  return Take(Unsure());
}

std::string Redactor::End() {
  std::string rest = Take(at_ + held_.size());
  plain_ = 0;
  json_ = percent_ = {};
  return rest;
}

std::string Redactor::All(const std::shared_ptr<const Needles>& needles, std::string_view text,
                          bool& found) {
  Redactor redactor(needles);
  std::string out = redactor.Feed(text);
  out += redactor.End();
  found |= redactor.found();
  return out;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);  // of secrets, too: what grows leaves copies behind
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j)
      out += i + j > bytes.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63];
  }
  return out;
}

bool DecodeBase64(std::string_view text, std::string& bytes) {
  bytes.clear();
  while (text.ends_with('=')) text.remove_suffix(1);
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return false;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xff);
    }
  }
  return true;
}

std::string PercentEncoded(std::string_view bytes) {
  std::string out;
  out.reserve(3 * bytes.size());
  for (const char c : bytes) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string JsonText(std::string_view value) {
  nlohmann::json text(value);
  std::string quoted = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string inner = quoted.substr(1, quoted.size() - 2);
  Wipe(text.get_ref<std::string&>());
  Wipe(quoted);
  return inner;
}

}  // namespace cloche::egress
