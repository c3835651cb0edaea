#include "egress/http_body.h"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

using namespace std::string_literals;

TEST(ChunkedBody, EndsWhereItEndsInAnyPieces) {
  const std::string body = "4\r\nwiki\r\n00A\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n";
  const std::string next = "GET / HTTP/1.1\r\n";
  for (size_t piece = 1; piece <= body.size() + next.size(); ++piece) {
    ChunkedBody chunked;
    std::string content;
    const std::string all = body + next;
    size_t used = 0;
    while (!chunked.done()) {
      const size_t took = chunked.Feed(std::string_view(all).substr(used, piece), &content);
      ASSERT_FALSE(chunked.bad()) << chunked.why();
      used += took;
    }
    EXPECT_EQ(used, body.size());
    EXPECT_EQ(content, "wiki0123456789");
  }
}

TEST(ChunkedBody, RefusesAmbiguousChunks) {
  for (const std::string& bad : {"\r\n"s,
                                 "x\r\n"s,
                                 " 4\r\n"s,
                                 "4 \r\n"s,
                                 "+4\r\n"s,
                                 "0x4\r\n"s,
                                 "-1\r\n"s,
                                 "4;a=b\r\n"s,
                                 "4\n"s,
                                 "4\rx"s,
                                 "1\r\nab\r\n"s,
                                 "1\r\na\n"s,
                                 "1\r\na\rx"s,
                                 "1000000000000000\r\n"s,
                                 "0\r\n\n"s,
                                 "0\r\nContent-Length: 3\r\n"s,
                                 "0\r\nTransfer-Encoding: chunked\r\n"s,
                                 "0\r\n a: b\r\n"s,
                                 "0\r\nnonsense\r\n"s,
                                 "0\r\nA: \0\r\n"s,
                                 "0\r\n" + std::string(9000, 'x')}) {
    ChunkedBody chunked;
    chunked.Feed(bad);
    EXPECT_TRUE(chunked.bad()) << testing::PrintToString(bad.substr(0, 40));
  }
}

TEST(ChunkedBody, ATrailerOfARequestSaysNothingThatBelongsInItsHead) {
  for (const char* line : {"Authorization: x", "X-HTTP-Method-Override: DELETE",
                           "x_http_method: PUT", "X-HTTP-Verb: PUT", "X-Original-URI: /a",
                           "X-Original-URL: /x", "Cookie: a=b", "If-Match: x", "Proxy-Secret: x"}) {
    ChunkedBody request(true), response;
    const std::string body = "0\r\n"s + line + "\r\n\r\n";
    request.Feed(body);
    EXPECT_TRUE(request.bad()) << line;
    response.Feed(body);
    EXPECT_TRUE(response.done()) << line;
  }
  ChunkedBody request(true);
  request.Feed("0\r\nX-Checksum: x\r\nGrpc-Status: 0\r\nX-HTTP: y\r\n\r\n");
  EXPECT_TRUE(request.done());
}

TEST(ChunkedBody, ContentMayGoByOtherwise) {
  ChunkedBody chunked;
  EXPECT_EQ(chunked.Feed("100\r\nabc"), 8u);
  EXPECT_EQ(chunked.content_left(), 253u);
  chunked.Skip(253);
  EXPECT_EQ(chunked.content_left(), 0u);
  EXPECT_EQ(chunked.Feed("\r\n0\r\n\r\nrest"), 7u);
  EXPECT_TRUE(chunked.done());
}

}  // namespace
}  // namespace cloche::egress
