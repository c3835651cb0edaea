#include "egress/http_head.h"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

using namespace std::string_literals;

Result<RequestHead> Get(const std::string& headers) {
  return ParseRequestHead("GET /x?y=1 HTTP/1.1\r\n" + headers + "\r\n");
}

TEST(RequestHead, IsRead) {
  const auto head = Get("Host: a.example\r\nContent-Length: 12\r\nX-Odd:\t v \r\n");
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->PathWithoutQuery(), "/x");
  EXPECT_EQ(*head->Find("host"), "a.example");
  EXPECT_EQ(*head->Find("x-odd"), "v");
  EXPECT_EQ(head->framing, Framing::kLength);
  EXPECT_EQ(head->length, 12u);
  EXPECT_TRUE(head->keep_alive);
  EXPECT_EQ(WriteRequestHead(*head),
            "GET /x?y=1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 12\r\nX-Odd: v\r\n\r\n");
}

TEST(RequestHead, TargetsComeInFourForms) {
  const auto absolute = ParseRequestHead("GET http://a.example:81?q HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(absolute);
  EXPECT_EQ(absolute->authority, "a.example:81");
  EXPECT_EQ(absolute->path, "/?q");
  EXPECT_EQ(ParseRequestHead("CONNECT a.example:443 HTTP/1.1\r\n\r\n")->authority, "a.example:443");
  EXPECT_EQ(ParseRequestHead("OPTIONS * HTTP/1.1\r\n\r\n")->path, "*");
}

TEST(RequestHead, KeepsOnlyKnownConnectionOptions) {
  const auto head = ParseRequestHead(
      "GET / HTTP/1.1\r\nConnection: X-Odd, Upgrade\r\nA: b\r\nConnection: ,close\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->Count("Connection"), 1u);
  EXPECT_EQ(*head->Find("Connection"), "Upgrade, close");
  EXPECT_FALSE(head->keep_alive);
  EXPECT_EQ(ParseRequestHead("GET / HTTP/1.1\r\nConnection: x\r\n\r\n")->Find("Connection"),
            nullptr);
}

TEST(RequestHead, SmugglingShapesAreRefused) {
  for (const std::string& bad : {"Content-Length: 1\r\nContent-Length: 1\r\n"s,
                                 "Content-Length: 1\r\nContent-Length: 2\r\n"s,
                                 "Content-Length: 1, 1\r\n"s,
                                 "Content-Length: +1\r\n"s,
                                 "Content-Length: 0x1\r\n"s,
                                 "Content-Length: -1\r\n"s,
                                 "Content-Length: \r\n"s,
                                 "Content-Length: 1 1\r\n"s,
                                 "Content-Length: 99999999999999999999\r\n"s,
                                 "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"s,
                                 "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"s,
                                 "Transfer-Encoding: identity\r\n"s,
                                 "Transfer-Encoding: gzip, chunked\r\n"s,
                                 "Transfer-Encoding: xchunked\r\n"s,
                                 "Transfer-Encoding: \x0b"
                                 "chunked\r\n"s,
                                 "Transfer-Encoding : chunked\r\n"s,
                                 "A: b\r\n c\r\n"s,
                                 " A: b\r\n"s,
                                 "A: b\rc\r\n"s,
                                 "A: b\n"s,
                                 "A: b\nC: d\r\n"s,
                                 "A: \0\r\n"s,
                                 "A\r\n"s,
                                 ": b\r\n"s,
                                 "A b: c\r\n"s,
                                 "Host: a\r\nHost: a\r\n"s,
                                 "Content_Length: 1\r\n"s,
                                 "transfer_encoding: chunked\r\n"s,
                                 "Expect: 100-continue\r\nExpect: 100-continue\r\n"s,
                                 "Expect: y 100-continue\r\n"s,
                                 "Connection: close, Content-Length\r\n"s,
                                 "Connection: transfer-encoding\r\n"s,
                                 "Connection: Host\r\n"s,
                                 "Connection: x\r\nConnection: X-Original-URL\r\n"s,
                                 "A: b\x7f\r\n"s,
                                 "A: b\x1b[2J\r\n"s,
                                 "\xc3\xa9: b\r\n"s})
    EXPECT_FALSE(Get(bad)) << testing::PrintToString(bad);
  for (const std::string& bad : {"\r\nGET / HTTP/1.1\r\n\r\n"s,
                                 "GET  / HTTP/1.1\r\n\r\n"s,
                                 "GET / HTTP/1.1 \r\n\r\n"s,
                                 "GET /\r\n\r\n"s,
                                 "GET / HTTP/2.0\r\n\r\n"s,
                                 "GET / http/1.1\r\n\r\n"s,
                                 "GET / HTTP/1.10\r\n\r\n"s,
                                 "GET /a b HTTP/1.1\r\n\r\n"s,
                                 "GET x HTTP/1.1\r\n\r\n"s,
                                 "GET ftp://a/ HTTP/1.1\r\n\r\n"s,
                                 "GET http:/// HTTP/1.1\r\n\r\n"s,
                                 "G T / HTTP/1.1\r\n\r\n"s,
                                 "GET /#x HTTP/1.1\r\n\r\n"s,
                                 "GET /\xc3\xa9 HTTP/1.1\r\n\r\n"s,
                                 "GET /\x01 HTTP/1.1\r\n\r\n"s,
                                 "* / HTTP/1.1\n\n"s,
                                 "GET * HTTP/1.1\r\n\r\n"s,
                                 "PRI * HTTP/2.0\r\n\r\n"s,
                                 "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"s,
                                 "CONNECT a:1 HTTP/1.1\r\nContent-Length: 1\r\n\r\n"s,
                                 ""s,
                                 "\r\n\r\n"s})
    EXPECT_FALSE(ParseRequestHead(bad)) << testing::PrintToString(bad);
}

TEST(ResponseHead, BodiesEndAsTheRulesSay) {
  const auto framing = [](const std::string& head, const char* method) {
    return ParseResponseHead(head + "\r\n", method)->framing;
  };
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\n", "GET"), Framing::kUntilClose);
  EXPECT_EQ(framing("HTTP/1.1 200\r\nContent-Length: 0\r\n", "GET"), Framing::kNone);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", "GET"), Framing::kLength);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", "HEAD"), Framing::kNone);
  EXPECT_EQ(framing("HTTP/1.1 304 No\r\nContent-Length: 9\r\n", "GET"), Framing::kNone);
  EXPECT_EQ(framing("HTTP/1.1 100 Go\r\n", "GET"), Framing::kNone);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n", "GET"), Framing::kChunked);
  for (const char* bad :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 O\x01\r\n\r\n", "HTTP/1.1 700 OK\r\n\r\n"})
    EXPECT_FALSE(ParseResponseHead(bad, "GET")) << bad;
}

TEST(HeadEnd, IsFoundOnceAndGarbageEarly) {
  const std::string head = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
  size_t from = 0;
  for (size_t size = 0; size < head.size(); ++size)
    ASSERT_EQ(FindHeadEnd(head.substr(0, size), from), HeadEnd::kMore) << size;
  EXPECT_EQ(FindHeadEnd(head + "GET /2", from), HeadEnd::kFound);
  EXPECT_EQ(from, head.size());
  for (const std::string& bad :
       {"\r\n"s, " GET"s, "GET /\n"s, "GET \0"s, "GET /" + std::string(70000, 'x')}) {
    from = 0;
    EXPECT_EQ(FindHeadEnd(bad, from), HeadEnd::kBad);
  }
}

}  // namespace
}  // namespace cloche::egress
