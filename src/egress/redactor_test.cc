#include "egress/redactor.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <string.h>

#include <algorithm>
#include <random>

#include "egress/secret_limits.h"

namespace cloche::egress {
namespace {

std::shared_ptr<const Needles> Look(const std::vector<std::string>& values) {
  return std::make_shared<const Needles>(values);
}

// The same in any pieces.
std::string Redacted(std::string_view text, const std::vector<std::string>& values) {
  const auto needles = Look(values);
  const std::string whole = Redactor::All(needles, text);
  EXPECT_EQ(whole.size(), text.size());
  for (size_t piece = 1; piece <= std::min<size_t>(text.size(), 40); ++piece) {
    Redactor redactor(needles);
    std::string got;
    for (size_t at = 0; at < text.size(); at += piece) got += redactor.Feed(text.substr(at, piece));
    got += redactor.End();
    EXPECT_EQ(got, whole) << "in pieces of " << piece;
  }
  return whole;
}

size_t MemoryInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::string Stars(size_t count) { return std::string(count, '*'); }

TEST(Base64, GoesThereAndBack) {
  for (const char* text : {"", "a", "ab", "abc", "abcd", "user:pass"}) {
    std::string back;
    ASSERT_TRUE(DecodeBase64(EncodeBase64(text), back));
    EXPECT_EQ(back, text);
  }
  EXPECT_EQ(EncodeBase64("ab"), "YWI=");
  std::string back;
  EXPECT_FALSE(DecodeBase64("a b", back));
}

TEST(Redactor, FindsValuesInAnyPieces) {
  const std::string value = "va\"lue/1";
  const std::string text =
      "<" + value + value + ">va\"lue va%22lue%2F1 " + EncodeBase64(value) + ".";
  EXPECT_EQ(Redacted(text, {value}),
            "<" + Stars(16) + ">va\"lue " + Stars(12) + " " + Stars(12) + ".");
}

TEST(Redactor, FindsValuesInBase64WhereverTheyBegin) {
  const std::string value = "ghp_0123456789abcdefghijklmnop";
  for (const std::string before : {"", "u", "us", "user:", "x-access-token:"}) {
    for (const std::string after : {"", "!", " and more"}) {
      const std::string got = Redacted(EncodeBase64(before + value + after), {value});
      std::string back;
      EXPECT_FALSE(DecodeBase64(got, back));
      // The first and the last digit hold less than a byte of the value.
      EXPECT_GE(std::count(got.begin(), got.end(), '*'), 38) << got;
    }
  }
}

TEST(Redactor, FindsValuesInHexAndEscaped) {
  for (const char* text :
       {"612f622b633d736563726574", "612F622B633D736563726574", "a\\/b+c=secret",
        "a%2fb%2bc%3dsecret", "a%2Fb%2Bc%3Dsecret", "a%2fb%2Bc%3dsecret", "a%2fb+c=secret",
        "%61%2F%62%2B%63%3D%73%65%63%72%65%74", "a/b+c=s%65cret", "%61/b+c=secret",
        "\\u0061\\u002f\\u0062\\u002b\\u0063\\u003d\\u0073\\u0065\\u0063\\u0072\\u0065\\u0074",
        "a\\u002Fb+c\\u003dsecret", "\\u0061\\/b+c=secret", "a/b+c=secre\\u0074"})
    EXPECT_EQ(Redacted(std::string("<") + text + ">", {"a/b+c=secret"}),
              "<" + Stars(strlen(text)) + ">")
        << text;
}

TEST(Redactor, FindsEncodingsInEscapes) {
  const std::string value = "key>>>???key???";  // + and / in base64
  std::string encoded = EncodeBase64(value);
  ASSERT_NE(encoded.find('/'), encoded.npos);
  std::string slashed, percent;
  for (const char c : encoded) {
    slashed += c == '/' ? "\\/" : std::string(1, c);
    percent += c == '/' ? "%2F" : c == '=' ? "%3d" : c == '+' ? "%2B" : std::string(1, c);
  }
  EXPECT_EQ(Redacted(slashed, {value}), Stars(slashed.size()));
  EXPECT_EQ(Redacted(percent, {value}), Stars(percent.size()));
  EXPECT_EQ(Redacted("a key with blanks", {"a key with blanks"}), Stars(17));
  EXPECT_EQ(Redacted("a+key+with%20blanks", {"a+key with blanks"}), "a+key+with%20blanks");
  EXPECT_EQ(Redacted("a+key+with+blanks", {"a key with blanks"}), Stars(17));
  const std::string twice = JsonText(JsonText("q\"uoted-key"));  // a text in a text
  EXPECT_EQ(Redacted("<" + twice + ">", {"q\"uoted-key"}), "<" + Stars(twice.size()) + ">");
}

TEST(Redactor, LeavesInvalidEscapesAlone) {
  for (const char* text : {"%", "%%", "%6", "%6x", "\\", "\\u00", "\\u00zz", "\\q", "%\\u",
                           "secre%74x%", "\\\\u0061", "a%2", "100%25"})
    EXPECT_EQ(Redacted(text, {"a/b+c=secret"}), text);
  // The characters of escapes in the value itself.
  for (const std::string value :
       {"50%off%41%", "back\\slash\\u0041", "%%%%%%%%", "\\\\\\\\\\\\\\\\"})
    EXPECT_EQ(
        Redacted("<" + value + ">" + PercentEncoded(value) + ">" + JsonText(value) + ">", {value}),
        "<" + Stars(value.size()) + ">" + Stars(PercentEncoded(value).size()) + ">" +
            Stars(JsonText(value).size()) + ">")
        << value;
}

TEST(Redactor, OneValueInAnotherLeavesNoRest) {
  const std::vector<std::string> values = {"abcdefgh", "abcdefghXYZ12345", "12345-overlaps"};
  EXPECT_EQ(Redacted("<abcdefghXYZ12345>", values), "<" + Stars(16) + ">");
  EXPECT_EQ(Redacted("<abcdefghXYZ12345-overlaps>", values), "<" + Stars(25) + ">");
  EXPECT_EQ(Redacted("<abcdefghXYZ1234>", values), "<" + Stars(8) + "XYZ1234>");
  EXPECT_EQ(Redacted("<ab\\u0063defghXYZ12345-overlaps>", values), "<" + Stars(30) + ">");
}

// Bytes that cannot begin a value are not held back: events must not wait for the next one.
TEST(Redactor, PassesOnBytesThatCannotBeginAValue) {
  Redactor redactor(Look({std::string(8192, 'v') + "!"}));
  EXPECT_EQ(redactor.Feed("data: 1\n\n"), "data: 1\n\n");
  EXPECT_EQ(redactor.Feed("data: v"), "data: ");
  EXPECT_EQ(redactor.Feed("\n\n"), "v\n\n");
  EXPECT_EQ(redactor.Feed("%7"), "");
  EXPECT_EQ(redactor.Feed("8"), "%78");
  EXPECT_EQ(redactor.End(), "");
}

// As much as one sandbox may have, in characters that every spelling writes in another way.
TEST(Redactor, TakesNoMoreMemoryPerByteThanPromised) {
  const std::string hard = " \"\\&+/<>=?[]{}|~^`!#$%'()*,:;@kmno";
  std::mt19937 random(1);
  std::vector<std::string> values;
  for (size_t bytes = 0; bytes < kMostRedactedBytes; bytes += kLongestValue) {
    std::string& value = values.emplace_back();
    while (value.size() < kLongestValue) value += hard[random() % hard.size()];
  }
  [[maybe_unused]] const size_t before = MemoryInUse();
  const auto needles = Look(values);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // with a malloc of their own
  EXPECT_LE(MemoryInUse() - before, 17u << 20);
  EXPECT_GE(MemoryInUse() - before, 8u << 20);  // it counts what is there
#endif
  EXPECT_LE(needles->most_held(), 1u << 20);
  for (const std::string& value : values) {
    EXPECT_EQ(Redactor::All(needles, "<" + value + ">"), "<" + Stars(value.size()) + ">");
    for (const std::string& text : {JsonText(value), PercentEncoded(value), EncodeBase64(value),
                                    EncodeBase64("u:" + value)}) {
      const std::string redacted = Redactor::All(needles, text);
      EXPECT_GE(std::count(redacted.begin(), redacted.end(), '*') + 4, std::ssize(text));
    }
  }
}

// Against a search that is too simple to be wrong. Values overlap, begin and end with each other.
TEST(Redactor, FindsTheSameAsASimpleSearch) {
  std::mt19937 random(7);
  const auto draw = [&](size_t least, size_t most) {
    std::string text(least + random() % (most - least + 1), 'a');
    for (char& c : text) c = "ab"[random() % 2];
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> values;
    for (size_t count = 1 + random() % 12; count > 0; --count) values.push_back(draw(8, 14));
    std::string text = draw(50, 300);
    for (const std::string& value : values) text += draw(0, 3) + value;
    std::string expected = text;
    for (const std::string& value : values)
      for (size_t at = text.find(value); at != text.npos; at = text.find(value, at + 1))
        expected.replace(at, value.size(), value.size(), '*');
    ASSERT_EQ(Redacted(text, values), expected) << round;
  }
}

// Each of these used to take a step for every byte of the value at every byte of the text, which
// took minutes.
TEST(Redactor, LongValuesCostAByteAStep) {
  std::string mixed, marks;
  while (mixed.size() < 8190) mixed += "x%";
  while (marks.size() < 8184) marks += "a\\u0061\\";
  const std::vector<std::string> values = {
      std::string(8191, 'a'), std::string(8191, 'a') + "b", mixed + "!", marks + "!",
      std::string(8191, '%'), std::string(8191, '\\')};
  const auto needles = Look(values);
  std::string escaped;
  for (int i = 0; i < 400'000; ++i) escaped += i % 8000 == 7999 ? "c" : "\\u0061";
  for (const std::string& text : {std::string(4'000'000, 'a'), escaped, std::string(2'000'000, '%'),
                                  std::string(2'000'000, '\\')}) {
    std::string got = Redactor::All(needles, text);
    EXPECT_EQ(got.size(), text.size());
  }
  std::string long_mixed;
  while (long_mixed.size() < 2'000'000) long_mixed += mixed;
  EXPECT_EQ(Redactor::All(needles, long_mixed).find('*'), long_mixed.npos);
}

}  // namespace
}  // namespace cloche::egress
