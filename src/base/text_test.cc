#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/frames.h"
#include "base/json_text.h"
#include "base/nearest_word.h"

namespace cloche {
namespace {

TEST(ParseBytes, UnitsArePowersOf1024) {
  EXPECT_EQ(ParseBytes("0"), 0u);
  EXPECT_EQ(ParseBytes("4096"), 4096u);
  EXPECT_EQ(ParseBytes("1K"), 1024u);
  EXPECT_EQ(ParseBytes("512M"), 536870912u);
  EXPECT_EQ(ParseBytes("512MiB"), 536870912u);
  EXPECT_EQ(ParseBytes("512mb"), 536870912u);
  EXPECT_EQ(ParseBytes("1.5G"), 1610612736u);
  EXPECT_EQ(ParseBytes("2T"), uint64_t{2} << 40);
}

TEST(ParseBytes, RefusesInvalidSizes) {
  for (const char* text :
       {"", "-1", "-1M", "+1", " 1", "1 ", "M", "1X", "1MM", "1.5", "1e9", "0x10", "nan", "inf",
        "1M\n", "1,5G", "18446744073709551616", "99999999999T", "9999999999999999.5T"})
    EXPECT_FALSE(ParseBytes(text)) << text;
}

TEST(FormatBytes, UsesTheLargestUnitAndAtMostOneDecimal) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1000), "1000 B");
  EXPECT_EQ(FormatBytes(536870912), "512 MiB");
  EXPECT_EQ(FormatBytes(1610612736), "1.5 GiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1 MiB");
}

TEST(ParseDuration, ReadsOneNumberWithOneUnit) {
  EXPECT_DOUBLE_EQ(*ParseDuration("60s"), 60);
  EXPECT_DOUBLE_EQ(*ParseDuration("60"), 60);
  EXPECT_DOUBLE_EQ(*ParseDuration("5m"), 300);
  EXPECT_DOUBLE_EQ(*ParseDuration("1h"), 3600);
  EXPECT_DOUBLE_EQ(*ParseDuration("1.5s"), 1.5);
  EXPECT_DOUBLE_EQ(*ParseDuration("250ms"), 0.25);
  for (const char* text : {"", "-1s", "s", "1x", "inf", "nan", "1e3", "1 s", "999999999d"})
    EXPECT_FALSE(ParseDuration(text)) << text;
}

TEST(ParseDuration, ReadsSeveralUnitsTheLargestFirst) {
  EXPECT_DOUBLE_EQ(*ParseDuration("1h30m"), 5400);
  EXPECT_DOUBLE_EQ(*ParseDuration("2d"), 172800);
  EXPECT_DOUBLE_EQ(*ParseDuration("1d12h"), 129600);
  EXPECT_DOUBLE_EQ(*ParseDuration("1m1.5s"), 61.5);
  EXPECT_DOUBLE_EQ(*ParseDuration("1min250ms"), 60.25);
  for (const char* text : {"30m1h", "1h1h", "1h30", "1h30x", "1h-30m", "1h 30m", "h30m", "1hm"})
    EXPECT_FALSE(ParseDuration(text)) << text;
}

TEST(ParseCount, ReadsThousandsAndMillions) {
  EXPECT_EQ(*ParseCount("100"), 100u);
  EXPECT_EQ(*ParseCount("20k"), 20'000u);
  EXPECT_EQ(*ParseCount("1.5M"), 1'500'000u);
  EXPECT_EQ(*ParseCount("1.001k"), 1001u);
  EXPECT_EQ(*ParseCount("9223372036854775807"), 9223372036854775807u);
  EXPECT_EQ(*ParseCount("9223372036854775k"), 9223372036854775000u);
  EXPECT_FALSE(ParseCount("9223372036854775808"));
  EXPECT_FALSE(ParseCount("9223372036854776k"));
  for (const char* text : {"1.5", "1.0005k", "k", "", "-1", "1G", "9999999999999999999", "1kk"})
    EXPECT_FALSE(ParseCount(text)) << text;
}

TEST(NearestWord, FindsTheClosestWord) {
  const std::vector<std::string> known = {"run", "promote", "promotions", "snapshot", "ls"};
  EXPECT_EQ(NearestWord("rnu", known), "run");
  EXPECT_EQ(NearestWord("promte", known), "promote");
  EXPECT_EQ(NearestWord("snapshto", known), "snapshot");
  EXPECT_EQ(NearestWord("sl", known), "ls");
  EXPECT_EQ(NearestWord("frobnicate", known), "");
  EXPECT_EQ(NearestWord("x", known), "");
  EXPECT_EQ(NearestWord("", known), "");
}

TEST(FormatDuration, IsExactInTheLargestUnitThatDivides) {
  EXPECT_EQ(FormatDuration(3600), "1 h");
  EXPECT_EQ(FormatDuration(300), "5 min");
  EXPECT_EQ(FormatDuration(5400), "90 min");
  EXPECT_EQ(FormatDuration(61), "61 s");
  EXPECT_EQ(FormatDuration(1.5), "1.5 s");
  EXPECT_EQ(FormatDuration(0.25), "250 ms");
  EXPECT_EQ(FormatDuration(0), "0 s");
}

TEST(FormatAge, RoundsDownToOneUnit) {
  EXPECT_EQ(FormatAge(-5), "0 s");
  EXPECT_EQ(FormatAge(59.9), "59 s");
  EXPECT_EQ(FormatAge(3599), "59 min");
  EXPECT_EQ(FormatAge(86400 * 3 + 1), "3 d");
}

TEST(ParseCpu, AcceptsFractionsAndRefusesTheImpossible) {
  EXPECT_DOUBLE_EQ(*ParseCpu("1.5"), 1.5);
  EXPECT_DOUBLE_EQ(*ParseCpu("0"), 0);
  for (const char* text : {"-1", "", "two", "1.5c", "0.0001", "1000000", "nan"})
    EXPECT_FALSE(ParseCpu(text)) << text;
}

TEST(EscapeForTerminal, PrintableTextStays) {
  EXPECT_EQ(EscapeForTerminal("plain ~ text"), "plain ~ text");
  EXPECT_EQ(EscapeForTerminal("Grüße, 世界 🌱"), "Grüße, 世界 🌱");
}

TEST(EscapeForTerminal, ControlBytesCannotReachTheTerminal) {
  EXPECT_EQ(EscapeForTerminal("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(EscapeForTerminal("a\r\nb\tc"), "a\\x0d\\x0ab\\x09c");
  EXPECT_EQ(EscapeForTerminal(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(EscapeForTerminal("\xc2\x9b"
                              "31m"),
            "\\u{009b}31m");
}

TEST(EscapeForTerminal, InvisibleAndReorderingCharactersAreShown) {
  EXPECT_EQ(EscapeForTerminal("a\u202eb"), "a\\u{202e}b");
  EXPECT_EQ(EscapeForTerminal("\u2066\u2069\u200e\u200f"), "\\u{2066}\\u{2069}\\u{200e}\\u{200f}");
  EXPECT_EQ(EscapeForTerminal("ad\u200bmin\ufeff"), "ad\\u{200b}min\\u{feff}");
  EXPECT_EQ(EscapeForTerminal("\U000e0041"), "\\u{e0041}");
}

TEST(EscapeForTerminal, BytesThatAreNotUtf8AreShownOneByOne) {
  EXPECT_EQ(EscapeForTerminal("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(EscapeForTerminal("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(EscapeForTerminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(EscapeForTerminal("\xe4\xb8"), "\\xe4\\xb8");           // cut off
  EXPECT_EQ(EscapeForTerminal("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(SandboxName, IsLowerCaseAndStartsWithALetter) {
  for (const char* name : {"a", "web-2", "x0"}) EXPECT_TRUE(IsValidSandboxName(name)) << name;
  for (const char* name : {"", "-a", "0a", "A", "a/b", "a\n", "..", "a_b", "sb_1", "ä"})
    EXPECT_FALSE(IsValidSandboxName(name)) << name;
  EXPECT_TRUE(IsValidSandboxName(std::string(63, 'a')));
  EXPECT_FALSE(IsValidSandboxName(std::string(64, 'a')));
}

TEST(Table, AlignsByDisplayWidthAndEscapesItsCells) {
  Table table({"NAME", "MS"});
  table.AlignRight(1);
  table.AddRow({"世界", "1.5"});
  table.AddRow({"\x1b[31m", "10.0"});
  EXPECT_EQ(table.Render(false),
            "NAME        MS\n"
            "世界       1.5\n"
            "\\x1b[31m  10.0\n");
}

TEST(Table, IsPlainUnlessColourIsAskedFor) {
  Table table({"A"});
  table.AddRow({"b"});
  EXPECT_EQ(table.Render(false).find('\x1b'), std::string::npos);
  EXPECT_NE(table.Render(true).find('\x1b'), std::string::npos);
}

TEST(Frames, AHeadSurvivesTheRoundTrip) {
  std::string out;
  AppendFrame(out, FrameType::kStderr, std::string(70000, 'x'));
  ASSERT_EQ(out.size(), kFrameHeader + 70000);
  unsigned char bytes[kFrameHeader];
  for (size_t i = 0; i < kFrameHeader; ++i) bytes[i] = static_cast<unsigned char>(out[i]);
  FrameHead head;
  ASSERT_TRUE(ParseFrameHead(bytes, head));
  EXPECT_EQ(head.type, FrameType::kStderr);
  EXPECT_EQ(head.length, 70000u);
}

TEST(Frames, HeadsThatAreNotOursAreRefused) {
  FrameHead head;
  EXPECT_FALSE(ParseFrameHead({99, 0, 0, 0, 0, 0, 0, 0}, head));    // unknown type
  EXPECT_FALSE(ParseFrameHead({0, 0, 1, 0, 0, 0, 0, 0}, head));     // padding
  EXPECT_FALSE(ParseFrameHead({0, 0, 0, 0, 0, 0x10, 0, 1}, head));  // a byte too long
  EXPECT_TRUE(ParseFrameHead({0, 0, 0, 0, 0, 0x10, 0, 0}, head));
  EXPECT_FALSE(ParseFrameHead({16, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, head));
}

TEST(EscapeJson, LeavesTheValueAndNothingThatATerminalActsOn) {
  EXPECT_EQ(EscapeJson("{\"a\":\"\u00e9 \u6f22\"}\n"), "{\"a\":\"\u00e9 \u6f22\"}\n");
  EXPECT_EQ(EscapeJson("\"\x7f\u009b2J\u0085\u202e\u2066\u2028\ufeff\""),
            "\"\\u007f\\u009b2J\\u0085\\u202e\\u2066\\u2028\\ufeff\"");
  EXPECT_EQ(EscapeJson("\"\U000e0041\""), "\"\\udb40\\udc41\"");
  EXPECT_EQ(EscapeJson("\"\xff\""), "\"\\ufffd\"");
  for (char32_t c = 0x7f; c < 0x3000; ++c) {
    std::string text;
    if (c < 0x800)
      text = {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    else
      text = {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
              static_cast<char>(0x80 | (c & 0x3f))};
    if (c == 0x7f) text = "\x7f";
    if (c >= 0xd800 && c < 0xe000) continue;
    EXPECT_EQ(EscapeJson(text) == text, EscapeForTerminal(text) == text)
        << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace cloche
