#include "egress/server_certificate.h"

#include <gtest/gtest.h>

#include "egress/tls_bytes_test.h"

namespace cloche::egress {
namespace {

using State = ServerCertificate::State;

std::string Hello(const std::string& extensions) {
  std::string body = Number(0x0303, 2) + std::string(32, 'r') + Vector("session", 1) +
                     Number(0xc02b, 2) + Number(0, 1);
  if (!extensions.empty()) body += Vector(extensions, 2);
  return Number(2, 1) + Vector(body, 3);
}
std::string Chain(const std::string& first, const std::string& others = "") {
  return Number(11, 1) + Vector(Vector(Vector(first, 3) + others, 3), 3);
}
State Read(const std::string& bytes) {
  ServerCertificate certificate;
  return certificate.Feed(bytes);
}

TEST(ServerCertificate, IsFoundInAnyPieces) {
  const std::string der(3000, 'd');
  for (const std::string& hello : {Hello(""), Hello(Extension(0xff01, "x"))}) {
    const std::string messages = hello + Chain(der, Vector(std::string(90'000, 'c'), 3));
    for (const size_t record : {size_t{1}, size_t{3}, size_t{50}, size_t{16384}}) {
      std::string bytes;
      for (size_t at = 0; at < 9000; at += record) bytes += Record(messages.substr(at, record));
      for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, bytes.size()}) {
        ServerCertificate certificate;
        for (size_t at = 0; at < bytes.size(); at += piece)
          certificate.Feed(std::string_view(bytes).substr(at, piece));
        ASSERT_EQ(certificate.state(), State::kFound);
        EXPECT_EQ(certificate.der(), der);
      }
    }
  }
}

TEST(ServerCertificate, IsHiddenSinceTls13AndWhenASessionIsResumed) {
  EXPECT_EQ(Read(Record(Hello(Extension(43, "\x03\x04")))), State::kNone);
  EXPECT_EQ(Read(Record(Hello("")) + Record("\x01", 20)), State::kNone);
  EXPECT_EQ(Read(Record(Hello("") + Number(4, 1) + Vector("ticket", 3))), State::kNone);
  EXPECT_EQ(Read(Record("\x02\x28", 21)), State::kNone);
}

TEST(ServerCertificate, IgnoresBytesThatAreNotAHandshake) {
  for (const std::string& bytes :
       {std::string("HTTP/1.1 200 OK"), std::string("\x16\x04\x00", 3), Record(""),
        std::string("\x16\x03\x03\x40\x01", 5), Record(Chain("x")), Record(Hello("") + Chain("")),
        Record(Number(2, 1) + Vector("short", 3)),
        Record(Hello("") + Number(11, 1) + Number(10, 3) + Number(8, 3) + Number(1, 3)),
        Record(Hello("") + Number(11, 1) + Number(10, 3) + Number(7, 3) + Number(5, 3)),
        Record(Number(2, 1) + Number(70'000, 3)),
        Record(Hello("") + Number(11, 1) + Number(80'006, 3) + Number(80'003, 3) +
               Number(80'000, 3))})
    EXPECT_EQ(Read(bytes), State::kNone);
  EXPECT_EQ(Read(""), State::kMore);
  EXPECT_EQ(Read(Record(Hello(""))), State::kMore);
}

}  // namespace
}  // namespace cloche::egress
