#include "egress/client_hello.h"

#include <gtest/gtest.h>

#include "egress/tls_bytes_test.h"

namespace cloche::egress {
namespace {

using State = ClientHello::State;

std::string Name(const std::string& name) {
  return Extension(0, Vector(Number(0, 1) + Vector(name, 2), 2));
}

std::string Message(const std::string& extensions) {
  const std::string body = Number(0x0303, 2) + std::string(32, 'r') + Vector("", 1) +
                           Vector("\x13\x01", 2) + Vector(std::string(1, '\0'), 1) +
                           Vector(extensions, 2);
  return Number(1, 1) + Vector(body, 3);
}

State Read(const std::string& bytes, ClientHello& hello) { return hello.Feed(bytes); }

TEST(ClientHello, TellsTheName) {
  ClientHello hello;
  EXPECT_EQ(Read(Record(Message(Name("api.example.com"))), hello), State::kDone);
  EXPECT_EQ(hello.name(), "api.example.com");
  EXPECT_FALSE(hello.encrypted());
}

TEST(ClientHello, MayComeInAnyPieces) {
  const std::string message = Message(Name("a.example") + Extension(0xfe0d, "x"));
  for (const size_t record : {size_t{1}, size_t{3}, size_t{50}, message.size()}) {
    std::string bytes;
    for (size_t at = 0; at < message.size(); at += record)
      bytes += Record(message.substr(at, record));
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, bytes.size()}) {
      ClientHello hello;
      for (size_t at = 0; at < bytes.size(); at += piece) {
        ASSERT_EQ(hello.state(), State::kMore);
        hello.Feed(std::string_view(bytes).substr(at, piece));
      }
      ASSERT_EQ(hello.state(), State::kDone) << hello.why();
      EXPECT_EQ(hello.name(), "a.example");
      EXPECT_TRUE(hello.encrypted());
    }
  }
}

TEST(ClientHello, WithoutANameHasNone) {
  ClientHello hello;
  EXPECT_EQ(Read(Record(Message("")), hello), State::kDone);
  EXPECT_EQ(hello.name(), "");
}

TEST(ClientHello, SaysWhetherHttp2IsOffered) {
  const auto offer = [](const std::string& protocols) {
    return Record(Message(Name("a.example") + Extension(16, Vector(protocols, 2))));
  };
  ClientHello both, one, none;
  EXPECT_EQ(Read(offer(Vector("h2", 1) + Vector("http/1.1", 1)), both), State::kDone);
  EXPECT_TRUE(both.offers_http2());
  EXPECT_EQ(Read(offer(Vector("http/1.1", 1) + Vector("h2c", 1)), one), State::kDone);
  EXPECT_FALSE(one.offers_http2());
  EXPECT_EQ(Read(Record(Message(Name("a.example"))), none), State::kDone);
  EXPECT_FALSE(none.offers_http2());
  ClientHello damaged;
  EXPECT_EQ(Read(offer("\x09h2"), damaged), State::kBad);
}

TEST(ClientHello, RefusesOtherBytesAtOnce) {
  const std::string good = Message(Name("a.example"));
  const std::string bad[] = {
      "GET / HTTP/1.1\r\n",
      "\x80",
      "\x16\x02",
      std::string("\x16\x03\x01\0\0", 5),
      std::string("\x16\x03\x01\xff\xff", 5),
      Record("\x02"),
      std::string("\x16\x03\x01\x00\x05\x01\x7f\xff\xff", 9),
      Record(good + "x"),
      Record(Message(Name("a.example") + Name("b.example"))),
      Record(Message(Name(""))),
      Record(Message(Name(std::string("a\0b", 3)))),
      Record(Message(Extension(0, Vector(Number(1, 1) + Vector("a", 2), 2)))),
      Record(Message(Number(0, 2) + Number(9, 2)))};
  for (const std::string& each : bad) {
    ClientHello hello;
    EXPECT_EQ(Read(each, hello), State::kBad) << testing::PrintToString(each);
  }
}

}  // namespace
}  // namespace cloche::egress
