#include "egress/canary_scanner.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "egress/redactor.h"

namespace cloche::egress {
namespace {

const std::vector<Canary> kCanaries = {{"aws-access-key", "AKIAQ3EGRT7YUIOPLKJH"},
                                       {"github-token", "ghp_0Zb1yXc2WdVe3UfTg4ShR5iQjP6kOl7NmAnB"},
                                       {"ssh-key", "q7/Zb1yXc2+dVe3UfTg4/hR5iQjP6kOl7NmAnBxx"}};

std::shared_ptr<CanarySet> Set() {
  auto set = CanarySet::Make(kCanaries);
  EXPECT_TRUE(set);
  return *set;
}

std::string Hex(std::string_view text, const char* digits) {
  std::string hex;
  for (const char c : text) {
    hex += digits[static_cast<uint8_t>(c) >> 4];
    hex += digits[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

std::string UrlSafe(std::string text) {
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

std::string PercentAll(std::string_view text) {
  std::string out;
  for (const char c : Hex(text, "0123456789abcdef")) {
    if (out.size() % 3 == 0) out += '%';
    out += c;
  }
  return out;
}

std::string PercentEncoded(const std::string& base64) {
  std::string out;
  for (const char c : base64)
    out += c == '+' ? "%2B" : c == '/' ? "%2F" : c == '=' ? "%3D" : std::string(1, c);
  return out;
}

std::string Wrapped(const std::string& text, size_t columns) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += columns) out += text.substr(at, columns) + "\r\n";
  return out;
}

// 31: gzip, 15: zlib, -15: neither.
std::string Packed(const std::string& text, int window) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Only what must be: %41 becomes %2541.
std::string EscapedPercents(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '%' ? "%25" : std::string(1, c);
  return out;
}

std::string JsonAll(std::string_view text) {
  std::string out;
  for (const char c : text) out += "\\u00" + Hex(std::string(1, c), "0123456789abcdef");
  return out;
}

std::string JsonLines(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '/' ? "\\/" : std::string(1, c);
  return "{\"k\":\"" + out + "\"}";
}

std::string Indented(const std::string& text) {
  std::string out = "data: |\n";
  for (size_t at = 0; at < text.size(); at += 20) out += "  \t" + text.substr(at, 20) + "\n";
  return out;
}

std::string Spaced(const std::string& hex, const char* between) {
  std::string out;
  for (size_t at = 0; at < hex.size(); at += 2) out += hex.substr(at, 2) + between;
  return out;
}

struct Sent {
  std::string bytes, form;
};

// Each form of a value, as it stands between other bytes.
std::vector<Sent> FormsOf(const std::string& value) {
  std::vector<Sent> forms;
  forms.push_back({"key=" + value + "&", "plain"});
  for (const char* before : {"", "u", "us", "user:", "x-access-token:"}) {
    const std::string base64 = EncodeBase64(before + value + " and more");
    forms.push_back({"{\"k\":\"" + base64 + "\"}", "base64"});
    forms.push_back({UrlSafe(base64), "base64"});
    forms.push_back({Wrapped(base64, 20), "base64"});
  }
  forms.push_back({Hex(value, "0123456789abcdef"), "hex"});
  forms.push_back({Hex(value, "0123456789ABCDEF"), "hex"});
  forms.push_back({Wrapped(Hex(value, "0123456789abcdef"), 30), "hex"});
  forms.push_back({"k=" + PercentAll(value), "plain, percent-encoded"});
  forms.push_back({"100%,%4%%" + PercentAll(EncodeBase64(value)), "base64, percent-encoded"});
  forms.push_back({"k=" + PercentAll(PercentAll(value)), "plain, escaped twice"});
  forms.push_back({"k=" + EscapedPercents(PercentAll(value)), "plain, escaped twice"});
  forms.push_back({"{\"k\":\"" + JsonAll(value) + "\"}", "plain, JSON escapes"});
  forms.push_back({PercentAll("{\"k\":\"" + JsonAll(value) + "\"}"), "plain, escaped twice"});
  forms.push_back({JsonLines(Wrapped(EncodeBase64("xyz" + value), 20)), "base64, JSON escapes"});
  forms.push_back({Indented(EncodeBase64("key: " + value + " and more")), "base64"});
  forms.push_back({Spaced(Hex(value, "0123456789abcdef"), " "), "hex"});
  forms.push_back({Spaced(Hex(value, "0123456789ABCDEF"), ":"), "hex"});
  const std::string file = "[production]\nkey = " + value + "\n";
  forms.push_back({"POST / HTTP/1.1\r\n\r\n" + Packed(file, 31), "plain, gzip"});
  forms.push_back({"POST / HTTP/1.1\r\n\r\n" + Packed(file, 15), "plain, deflate"});
  forms.push_back({Packed(EncodeBase64(value), 31) + "rest", "base64, gzip"});
  return forms;
}

TEST(CanaryScanner, FindsEveryFormInAnyTwoPieces) {
  const auto set = Set();
  for (const Canary& canary : kCanaries) {
    for (const Sent& sent : FormsOf(canary.value)) {
      for (size_t split = 0; split <= sent.bytes.size(); ++split) {
        CanaryScanner scanner(set);
        scanner.Feed(sent.bytes.substr(0, split));
        scanner.Feed(sent.bytes.substr(split));
        ASSERT_TRUE(scanner.hit()) << canary.name << " " << sent.form << " split at " << split;
        EXPECT_EQ(scanner.hit()->name, canary.name);
        EXPECT_EQ(scanner.hit()->form, sent.form);
      }
    }
  }
  EXPECT_EQ(set->inflating, 0u);
}

TEST(CanaryScanner, FindsEveryFormByteByByte) {
  for (const Canary& canary : kCanaries) {
    for (const Sent& sent : FormsOf(canary.value)) {
      CanaryScanner scanner(Set());
      for (const char c : sent.bytes) scanner.Feed(std::string_view(&c, 1));
      ASSERT_TRUE(scanner.hit()) << canary.name << " " << sent.form;
      EXPECT_EQ(scanner.hit()->form, sent.form);
    }
  }
}

TEST(CanaryScanner, FindsItBeforeItsLastBytesAreThere) {
  CanaryScanner scanner(Set());
  EXPECT_TRUE(scanner.Feed(kCanaries[1].value.substr(0, 24)));
  CanaryScanner other(Set());
  EXPECT_FALSE(other.Feed(kCanaries[1].value.substr(0, 23)));
}

TEST(CanaryScanner, FindsRawDeflateOnlyWhereItIsExpected) {
  const std::string packed = Packed("token: " + kCanaries[0].value, -15);
  for (const bool expected : {false, true}) {
    CanaryScanner scanner(Set());
    if (expected) scanner.ExpectRawDeflate();
    EXPECT_EQ(scanner.Feed(packed), expected);
  }
}

TEST(CanaryScanner, FindsZlibOfAnyWindow) {
  const std::string text = "a text that is long enough to be packed: " + kCanaries[0].value;
  for (int window = 9; window <= 15; ++window) {
    const std::string packed = Packed(text, window);
    for (size_t split = 0; split < 4; ++split) {
      CanaryScanner scanner(Set());
      scanner.Feed("before" + packed.substr(0, split));
      EXPECT_TRUE(scanner.Feed(packed.substr(split))) << window;
      EXPECT_STREQ(scanner.trouble(), "");
    }
  }
  CanaryScanner least(Set());  // 256 bytes, which zlib itself does not write
  EXPECT_TRUE(least.Feed("\x08\x1d" + Packed(text, -9)));
}

std::string InZip(const std::string& text, char flags, char method) {
  const std::string name = "secrets/.env", extra = "UT\5\1\1\1\1\1\1";
  std::string head = "PK\3\4";
  head += std::string("\x14\0", 2) + flags + '\0' + method + '\0' + std::string(16, '\0');
  head += static_cast<char>(name.size()) + std::string(1, '\0');
  head += static_cast<char>(extra.size()) + std::string(1, '\0');
  return head + name + extra + Packed(text, -15);
}

TEST(CanaryScanner, FindsDecoysInAZip) {
  const std::string zip = InZip("nothing", 8, 8) + InZip("TOKEN=" + kCanaries[1].value, 8, 8);
  for (const size_t piece : {size_t{1}, size_t{5}, size_t{33}, zip.size()}) {
    CanaryScanner scanner(Set());
    for (size_t at = 0; at < zip.size(); at += piece) scanner.Feed(zip.substr(at, piece));
    ASSERT_TRUE(scanner.hit()) << piece;
    EXPECT_EQ(scanner.hit()->form, "plain, zip");
  }
  // Encrypted files, and other compression methods, are ignored.
  CanaryScanner other(Set());
  EXPECT_FALSE(other.Feed(InZip("x", 1, 8) + InZip("y", 0, 93)));
}

// As a pack of git holds them: one compressed object after the other.
TEST(CanaryScanner, FindsTheSecondOfTwoCompressedStreams) {
  CanaryScanner scanner(Set());
  EXPECT_FALSE(scanner.Feed("PACK\1" + Packed("nothing here", 15)));
  EXPECT_TRUE(scanner.Feed("\x9d\1" + Packed(kCanaries[2].value, 15)));
}

// tar cz | base64 | curl -d @-
TEST(CanaryScanner, FindsCompressedDecoysInBase64) {
  const std::string file = "some more text before it\nkey = " + kCanaries[1].value + "\n";
  const std::string zip = InZip(file, 8, 8);
  std::vector<std::string> forms;
  for (const std::string& packed : {Packed(file, 31), Packed(file, 15), zip}) {
    const std::string base64 = EncodeBase64(packed);
    for (const std::string& each :
         {base64, UrlSafe(base64), Wrapped(base64, 76), Indented(base64),
          JsonLines(Wrapped(base64, 76)), "data=" + PercentEncoded(base64) + "&x=1"})
      forms.push_back("before " + each + "\r\n");
  }
  for (const std::string& form : forms) {
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, size_t{64}, form.size()}) {
      CanaryScanner scanner(Set());
      for (size_t at = 0; at < form.size(); at += piece) scanner.Feed(form.substr(at, piece));
      ASSERT_TRUE(scanner.hit()) << form << " by " << piece;
      EXPECT_TRUE(scanner.hit()->form.ends_with("in base64")) << scanner.hit()->form;
      EXPECT_STREQ(scanner.trouble(), "");
    }
  }
  // Base64 that ends too early is ignored; the bytes behind it are scanned as usual.
  CanaryScanner other(Set());
  EXPECT_FALSE(other.Feed("H4sI and H4sIAAAAAAAA \"eJw\" UEsDBBQ"));
  EXPECT_TRUE(other.Feed("," + kCanaries[0].value));
}

TEST(CanaryScanner, RandomBytesAreNotADecoy) {
  std::mt19937_64 random(7);
  const auto set = Set();
  CanaryScanner scanner(set);
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/%\r\n";
  for (int round = 0; round < 400; ++round) {
    std::string bytes(16 << 10, '\0');
    for (char& c : bytes)
      c = round % 2 == 0 ? static_cast<char>(random()) : kDigits[random() % kDigits.size()];
    ASSERT_FALSE(scanner.Feed(bytes)) << round;
  }
  // Nor are the ones of somebody else.
  EXPECT_FALSE(scanner.Feed("AKIAQ3EGRT7YUIOPLKJX ghp_0Zb1yXc2WdVe3UfTg4XhR5iQjP6kOl7NmAnB"));
}

TEST(CanaryScanner, ReportsTroubleWhenItCannotUnpackEverything) {
  const auto set = Set();
  CanaryScanner dense(set);
  const std::string bomb = Packed(std::string(64 << 20, '\0'), 31);
  for (size_t at = 0; at < bomb.size(); at += 4096) dense.Feed(bomb.substr(at, 4096));
  EXPECT_FALSE(dense.hit());
  EXPECT_STRNE(dense.trouble(), "");
  const std::string half = Packed(std::string(100, 'a') + kCanaries[0].value, 31).substr(0, 20);
  std::vector<CanaryScanner> many;
  for (int i = 0; i < 300; ++i) many.emplace_back(set).Feed(half);
  EXPECT_STREQ(many.front().trouble(), "");
  EXPECT_STRNE(many.back().trouble(), "");
}

// Stored blocks that extend to one common end: each head covers all bytes behind it.
TEST(CanaryScanner, HeadsThatShareTheirBytesArePaidForOnce) {
  std::string bytes;
  constexpr size_t kUnits = 1900, kUnit = 7;
  for (size_t i = 0; i < kUnits; ++i) {
    const auto left = static_cast<uint16_t>((kUnits - i - 1) * kUnit);
    const auto inverse = static_cast<uint16_t>(~left);
    bytes += std::string("x\x01\x00", 3);
    for (const uint16_t word : {left, inverse}) {
      bytes += static_cast<char>(word);
      bytes += static_cast<char>(word >> 8);
    }
  }
  CanaryScanner scanner(Set());
  EXPECT_TRUE(scanner.Feed(bytes));
  EXPECT_STRNE(scanner.trouble(), "");
}

TEST(CanaryScanner, NamesAreLookedAtWithoutTheirDots) {
  const auto set = Set();
  const std::string hex = Hex(kCanaries[0].value, "0123456789abcdef");
  const std::string name = hex.substr(0, 20) + "." + hex.substr(20) + ".evil.example";
  ASSERT_TRUE(FindCanary(set, name));
  EXPECT_EQ(WithoutCanary(set, name).find(hex.substr(0, 20)), std::string::npos);
  EXPECT_TRUE(WithoutCanary(set, name).ends_with(".evil.example"));
  std::string lower = kCanaries[0].value;
  for (char& c : lower) c = static_cast<char>(tolower(c));
  EXPECT_EQ(WithoutCanary(set, lower + ".evil.example"), "...evil.example");
  EXPECT_EQ(WithoutCanary(set, "api.example.com"), "api.example.com");
}

TEST(CanarySet, RefusesValuesThatOccurByChance) {
  EXPECT_FALSE(CanarySet::Make({{"short", "AKIA1234"}}));
  EXPECT_FALSE(CanarySet::Make(std::vector<Canary>(40, kCanaries[0])));
}

}  // namespace
}  // namespace cloche::egress
