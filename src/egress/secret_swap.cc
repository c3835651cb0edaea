#include "egress/secret_swap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace cloche::egress {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kShortestNeedle = 6;  // shorter ones would cover half of every page

bool ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  size_t at = text.find(what), from = 0;
  if (at == text.npos) return false;
  std::string out;
  for (; at != text.npos; at = text.find(what, from)) {
    out.append(text, from, at - from).append(with);
    from = at + what.size();
  }
  out.append(text, from);
  Wipe(text);
  text = std::move(out);
  return true;
}

std::string InUpperCase(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string PercentEncoded(std::string_view bytes, bool lower = false) {
  std::string out;
  for (const char c : bytes) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const std::string code = fmt::format("%{:02x}", static_cast<unsigned char>(c));
      out += lower ? code : InUpperCase(code);
    }
  }
  return out;
}

std::string JsonText(std::string_view value) {
  const std::string quoted =
      nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

// What base64 has for `value` after `before` more bytes (modulo 3): with something behind it, at
// the end, and there with padding. The digits that others have a part in are left out.
std::array<std::string, 3> InBase64(std::string_view value, size_t before) {
  const std::string all = EncodeBase64(std::string(before, '\0') + std::string(value));
  const size_t first = (before * 8 + 5) / 6, last = (before + value.size()) * 8 / 6;
  const size_t end = all.find_last_not_of('=') + 1;
  return {all.substr(first, last - first), all.substr(first, end - first), all.substr(first)};
}

size_t Beginning(std::string_view text, size_t at) {
  return static_cast<size_t>(static_cast<unsigned char>(text[at])) << 8 |
         static_cast<unsigned char>(text[at + 1]);
}

void PutIntoBasic(std::string& value, SecretInUse& secret) {
  constexpr std::string_view kBasic = "Basic ";
  std::string pair;
  if (value.size() < kBasic.size() || !SameText(value.substr(0, kBasic.size()), kBasic) ||
      !DecodeBase64(std::string_view(value).substr(kBasic.size()), pair) ||
      pair.find(secret.use.placeholder) == pair.npos)
    return;
  secret.put_in |= ReplaceAll(pair, secret.use.placeholder, secret.value);
  value = std::string(kBasic) + EncodeBase64(pair);
}

}  // namespace

void PutSecretsIn(RequestHead& head, std::vector<SecretInUse>& secrets) {
  for (SecretInUse& secret : secrets) {
    for (Header& header : head.headers) {
      if (secret.use.header && !SameText(header.name, "Host"))
        secret.put_in |= ReplaceAll(header.value, secret.use.placeholder, secret.value);
      if (secret.use.basic && SameText(header.name, "Authorization"))
        PutIntoBasic(header.value, secret);
    }
    const size_t query = head.path.find('?');
    if (secret.use.query && query != head.path.npos) {
      std::string text = head.path.substr(query);
      secret.put_in |= ReplaceAll(text, secret.use.placeholder, PercentEncoded(secret.value));
      head.path = head.path.substr(0, query) + text;
    }
  }
}

bool HasJsonSecrets(const RequestHead& head, const std::vector<SecretInUse>& secrets) {
  const std::string* type = head.Find("Content-Type");
  const bool json = type != nullptr && type->size() >= 16 &&
                    SameText(std::string_view(*type).substr(0, 16), "application/json");
  return json && std::any_of(secrets.begin(), secrets.end(),
                             [](const SecretInUse& each) { return each.use.json; });
}

std::string PutSecretsInJson(std::string body, std::vector<SecretInUse>& secrets) {
  for (SecretInUse& secret : secrets) {
    if (secret.use.json)
      secret.put_in |= ReplaceAll(body, secret.use.placeholder, JsonText(secret.value));
  }
  return body;
}

Masker::Masker(const std::vector<SecretInUse>& secrets) {
  for (const SecretInUse& secret : secrets) {
    const std::string json = JsonText(secret.value);
    std::string slashed = json;  // as some write it
    ReplaceAll(slashed, "/", "\\/");
    std::string hex;
    for (const char c : secret.value) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    for (const std::string& each :
         {secret.value, json, slashed, hex, InUpperCase(hex), PercentEncoded(secret.value),
          PercentEncoded(secret.value, true)})
      Add(each);
    for (size_t before = 0; before < 3; ++before) {
      for (std::string& each : InBase64(secret.value, before)) {
        Add(each);
        std::replace(each.begin(), each.end(), '+', '-');
        std::replace(each.begin(), each.end(), '/', '_');
        Add(std::move(each));
      }
    }
  }
}

void Masker::Add(std::string needle) {
  if (needle.size() < kShortestNeedle ||
      std::find(needles_.begin(), needles_.end(), needle) != needles_.end())
    return;
  longest_ = std::max(longest_, needle.size());
  beginnings_.set(Beginning(needle, 0));
  needles_.push_back(std::move(needle));
}

void Masker::Find(std::string_view text, std::string& covered) const {
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    if (!beginnings_[Beginning(text, at)]) continue;
    for (const std::string& needle : needles_) {
      if (text.substr(at).starts_with(needle))
        covered.replace(at, needle.size(), needle.size(), '*');
    }
  }
}

std::string Masker::Feed(std::string_view bytes) {
  held_ += bytes;
  covered_ += bytes;
  Find(held_, covered_);
  if (held_.size() < longest_) return "";
  // A value may have begun in the last bytes.
  const size_t sure = held_.size() - (longest_ - 1);
  std::string out = covered_.substr(0, sure);
  held_.erase(0, sure);
  covered_.erase(0, sure);
  return out;
}

std::string Masker::End() {
  held_.clear();
  return std::exchange(covered_, {});
}

std::string Masker::All(std::string text) const {
  std::string covered = text;
  Find(text, covered);
  return covered;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string out;
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

}  // namespace cloche::egress
