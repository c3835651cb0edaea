#include "egress/secret_swap.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cloche::egress {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kShortestNeedle = 6;  // shorter ones would cover half of every page

void ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::string PercentEncoded(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string JsonText(std::string_view value) {
  const std::string quoted =
      nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

void PutIntoBasic(std::string& value, const SecretInUse& secret) {
  constexpr std::string_view kBasic = "Basic ";
  std::string pair;
  if (value.size() < kBasic.size() || !SameText(value.substr(0, kBasic.size()), kBasic) ||
      !DecodeBase64(std::string_view(value).substr(kBasic.size()), pair) ||
      pair.find(secret.use.placeholder) == pair.npos)
    return;
  ReplaceAll(pair, secret.use.placeholder, secret.value);
  value = std::string(kBasic) + EncodeBase64(pair);
}

}  // namespace

void PutSecretsIn(RequestHead& head, const std::vector<SecretInUse>& secrets) {
  for (const SecretInUse& secret : secrets) {
    for (Header& header : head.headers) {
      if (secret.use.header && !SameText(header.name, "Host"))
        ReplaceAll(header.value, secret.use.placeholder, secret.value);
      if (secret.use.basic && SameText(header.name, "Authorization"))
        PutIntoBasic(header.value, secret);
    }
    const size_t query = head.path.find('?');
    if (secret.use.query && query != head.path.npos) {
      std::string text = head.path.substr(query);
      ReplaceAll(text, secret.use.placeholder, PercentEncoded(secret.value));
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

std::string PutSecretsInJson(std::string body, const std::vector<SecretInUse>& secrets) {
  for (const SecretInUse& secret : secrets) {
    if (secret.use.json) ReplaceAll(body, secret.use.placeholder, JsonText(secret.value));
  }
  return body;
}

Masker::Masker(const std::vector<SecretInUse>& secrets) {
  for (const SecretInUse& secret : secrets) {
    const std::string base64 = EncodeBase64(secret.value);
    for (const std::string& needle :
         {secret.value, PercentEncoded(secret.value), JsonText(secret.value), base64}) {
      if (needle.size() < kShortestNeedle ||
          std::find(needles_.begin(), needles_.end(), needle) != needles_.end())
        continue;
      needles_.push_back(needle);
      longest_ = std::max(longest_, needle.size());
    }
  }
}

void Masker::Cover(std::string& text) const {
  for (const std::string& needle : needles_) {
    for (size_t at = text.find(needle); at != text.npos; at = text.find(needle, at + needle.size()))
      text.replace(at, needle.size(), needle.size(), '*');
  }
}

std::string Masker::Feed(std::string_view bytes) {
  held_ += bytes;
  Cover(held_);
  if (held_.size() < longest_) return "";
  // A value may have begun in the last bytes; stars are no beginning of any.
  const size_t sure = held_.size() - (longest_ - 1);
  std::string out = held_.substr(0, sure);
  held_.erase(0, sure);
  return out;
}

std::string Masker::End() { return std::exchange(held_, {}); }

std::string Masker::All(std::string text) const {
  Cover(text);
  return text;
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
