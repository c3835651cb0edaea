#include "egress/tls_handshake.h"

#include <gtest/gtest.h>

#include "egress/tls_bytes_test.h"

namespace cloche::egress {
namespace {

std::string Hello(const std::string& name) {
  const std::string extensions =
      Extension(0, Vector(Number(0, 1) + Vector(name, 2), 2)) + Extension(43, "\x02\x03\x04");
  const std::string body = Number(0x0303, 2) + std::string(32, 'r') + Vector("", 1) +
                           Vector("\x13\x01", 2) + Vector(std::string(1, '\0'), 1) +
                           Vector(extensions, 2);
  return Number(1, 1) + Vector(body, 3);
}

std::string Answer(const std::string& random, bool new_one) {
  const std::string extensions = new_one ? Extension(43, "\x03\x04") : Extension(23, "");
  const std::string body = Number(0x0303, 2) + random + Vector("", 1) + "\x13\x01" +
                           std::string(1, '\0') + Vector(extensions, 2);
  return Record(Number(2, 1) + Vector(body, 3));
}

const std::string kRetry = Answer(
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
    "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c",
    true);
const std::string kNew = Answer(std::string(32, 's'), true);
const std::string kOld = Answer(std::string(32, 's'), false);
const std::string kGood = Record(Hello("good.example")), kEvil = Record(Hello("evil.example"));
const std::string kCipher = Record("\x01", 20), kContent = Record("content", 23);

TlsHandshake Watch() {
  return TlsHandshake([](const ClientHello& hello) {
    return hello.name() == "good.example" ? "" : "it is for " + hello.name();
  });
}

// The part of `bytes` that passes, in pieces; "REFUSED" when that is refused.
std::string Passes(TlsHandshake& watch, const std::string& bytes, size_t piece = 1000) {
  std::string passes;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!watch.FromClient(std::string_view(bytes).substr(at, piece), passes).empty())
      return "REFUSED";
  }
  return passes;
}

TEST(TlsHandshake, EveryHelloIsJudgedUntilTheServersOwn) {
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}}) {
    for (const std::string& second : {kGood, kEvil}) {
      TlsHandshake watch = Watch();
      EXPECT_EQ(Passes(watch, kGood, piece), kGood);
      watch.FromServer(kRetry + kCipher);
      EXPECT_FALSE(watch.answered());
      EXPECT_EQ(Passes(watch, kCipher + second, piece),
                second == kGood ? kCipher + kGood : "REFUSED");
      if (second == kEvil) continue;
      watch.FromServer(kNew);
      EXPECT_TRUE(watch.over());
      EXPECT_EQ(Passes(watch, kCipher + kContent + "anything"), kCipher + kContent + "anything");
    }
  }
}

TEST(TlsHandshake, ASecondHelloDoesNotGoBeforeTheServerAsked) {
  TlsHandshake watch = Watch();
  EXPECT_EQ(Passes(watch, kGood + kEvil), "REFUSED");
  TlsHandshake early = Watch();  // with early data
  EXPECT_EQ(Passes(early, kGood + kCipher + kContent), kGood + kCipher + kContent);
  EXPECT_EQ(Passes(early, kEvil), "REFUSED");
}

TEST(TlsHandshake, AHelloInPiecesIsHeldUntilItIsWhole) {
  const std::string message = Hello("evil.example");
  TlsHandshake watch = Watch();
  EXPECT_EQ(Passes(watch, kGood), kGood);
  std::string pieces;
  for (const char byte : message.substr(0, message.size() - 1)) pieces += Record({byte});
  EXPECT_EQ(Passes(watch, pieces), "");
  TlsHandshake other = watch;
  EXPECT_EQ(Passes(other, kContent), "REFUSED");
  TlsHandshake answered = watch;
  answered.FromServer(kNew);
  EXPECT_EQ(Passes(answered, "x"), "REFUSED");
  EXPECT_EQ(Passes(watch, Record(message.substr(message.size() - 1))), "REFUSED");
}

TEST(TlsHandshake, HeldBytesPassOnceTheServerHasAnswered) {
  TlsHandshake watch = Watch();
  EXPECT_EQ(Passes(watch, kGood + "\x17\x03"), kGood);
  watch.FromServer(kNew);
  std::string passes;
  EXPECT_EQ(watch.FromClient("", passes), "");
  EXPECT_EQ(passes, "\x17\x03");
}

TEST(TlsHandshake, BeforeTls13NoHelloFollowsInClearOrEncrypted) {
  const std::string key = Record(Number(16, 1) + Vector(std::string(40, 'k'), 3));
  const std::string finished = Record(std::string(40, '\x01'));  // encrypted: it may look like any
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1000}}) {
    TlsHandshake watch = Watch();
    EXPECT_EQ(Passes(watch, kGood, piece), kGood);
    watch.FromServer(Record("\x01\x70", 21) + kOld);  // after a warning
    EXPECT_TRUE(watch.answered());
    EXPECT_FALSE(watch.over());
    const std::string flight = key + kCipher + finished + kContent;
    EXPECT_EQ(Passes(watch, flight, piece), flight);
    EXPECT_EQ(Passes(watch, finished, piece), "REFUSED");
    TlsHandshake clear = Watch();
    EXPECT_EQ(Passes(clear, kGood, piece), kGood);
    clear.FromServer(kOld);
    EXPECT_EQ(
        Passes(clear, Record(key.substr(5, 10)) + Record(key.substr(15) + Hello("evil.example")),
               piece),
        "REFUSED");
  }
}

TEST(TlsHandshake, AServerThatIsNotUnderstoodLeavesTheClientWatched) {
  for (const std::string& said :
       {std::string("HTTP/1.1 400 Bad Request"), Record(std::string("\x0b\0\0\1x", 5))}) {
    TlsHandshake watch = Watch();
    EXPECT_EQ(Passes(watch, kGood), kGood);
    watch.FromServer(said);
    EXPECT_TRUE(watch.answered());
    EXPECT_FALSE(watch.over());
    EXPECT_EQ(Passes(watch, kEvil), "REFUSED");
  }
}

TEST(TlsHandshake, AHelloInTooManyRecordsIsRefused) {
  const std::string message = Number(1, 1) + Number(60000, 3);
  std::string bytes;
  for (const char byte : message + std::string(40000, 'x')) bytes += Record({byte});
  TlsHandshake watch = Watch();
  EXPECT_EQ(Passes(watch, bytes), "REFUSED");
}

}  // namespace
}  // namespace cloche::egress
