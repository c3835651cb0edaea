#include "spawn/java_store.h"

#include <bit>

namespace cloche::spawn {
namespace {

constexpr uint32_t kMagic = 0xfeedfeed, kVersion = 2, kTrustedCertificate = 2;
constexpr std::string_view kPassword = "changeit";
constexpr std::string_view kSalt = "Mighty Aphrodite";  // of the format

void PutNumber(std::string& out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

void PutText(std::string& out, std::string_view text) {
  PutNumber(out, text.size(), 2);
  out += text;
}

int Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::string FromBase64(std::string_view text) {
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '\r' || c == '\n') continue;
    if (c == '=') break;
    const int digit = Digit(c);
    if (digit < 0) return "";
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits);
  }
  return bytes;
}

void Mix(std::string_view block, std::array<uint32_t, 5>& state) {
  std::array<uint32_t, 80> words;
  for (size_t i = 0; i < 16; ++i) {
    words[i] = 0;
    for (size_t j = 0; j < 4; ++j)
      words[i] = words[i] << 8 | static_cast<uint8_t>(block[4 * i + j]);
  }
  for (size_t i = 16; i < 80; ++i)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (size_t i = 0; i < 80; ++i) {
    uint32_t f, constant;
    if (i < 20) {
      f = (b & c) | (~b & d), constant = 0x5a827999;
    } else if (i < 40) {
      f = b ^ c ^ d, constant = 0x6ed9eba1;
    } else if (i < 60) {
      f = (b & c) | (b & d) | (c & d), constant = 0x8f1bbcdc;
    } else {
      f = b ^ c ^ d, constant = 0xca62c1d6;
    }
    const uint32_t next = std::rotl(a, 5) + f + e + constant + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::array<uint8_t, 20> Sha1(std::string_view bytes) {
  std::array<uint32_t, 5> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  size_t at = 0;
  for (; at + 64 <= bytes.size(); at += 64) Mix(bytes.substr(at, 64), state);
  std::string last(bytes.substr(at));
  last += '\x80';
  last.resize(last.size() <= 56 ? 56 : 120);
  PutNumber(last, uint64_t{bytes.size()} * 8, 8);
  for (size_t i = 0; i < last.size(); i += 64) Mix(std::string_view(last).substr(i, 64), state);
  std::array<uint8_t, 20> digest;
  for (size_t i = 0; i < 20; ++i)
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - i % 4 * 8));
  return digest;
}

std::string JavaTrustStore(std::string_view pem, uint64_t now_ms) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::string entries;
  uint32_t count = 0;
  while (true) {
    const size_t begin = pem.find(kBegin), end = pem.find(kEnd, begin);
    if (begin == pem.npos || end == pem.npos) break;
    const size_t body = begin + kBegin.size();
    const std::string certificate = FromBase64(pem.substr(body, end - body));
    pem.remove_prefix(end + kEnd.size());
    if (certificate.empty()) continue;
    PutNumber(entries, kTrustedCertificate, 4);
    PutText(entries, "cloche-" + std::to_string(++count));
    PutNumber(entries, now_ms, 8);
    PutText(entries, "X.509");
    PutNumber(entries, certificate.size(), 4);
    entries += certificate;
  }
  std::string store;
  PutNumber(store, kMagic, 4);
  PutNumber(store, kVersion, 4);
  PutNumber(store, count, 4);
  store += entries;
  std::string sealed;
  for (const char c : kPassword) PutNumber(sealed, static_cast<uint8_t>(c), 2);
  sealed.append(kSalt).append(store);
  for (const uint8_t byte : Sha1(sealed)) store += static_cast<char>(byte);
  return store;
}

}  // namespace cloche::spawn
