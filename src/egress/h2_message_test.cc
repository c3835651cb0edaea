#include "egress/h2_message.h"

#include <gtest/gtest.h>

#include "egress/h2_pipe.h"

namespace cloche::egress {
namespace {

H2Fields Get(H2Fields more = {}) {
  H2Fields fields{{":method", "GET"},
                  {":scheme", "https"},
                  {":authority", "api.example.test"},
                  {":path", "/v1/x?y=z"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

H2Fields With(std::string_view name, const std::string& value) {
  H2Fields fields = Get();
  for (Header& field : fields) {
    if (field.name == name) field.value = value;
  }
  return fields;
}

H2Fields Without(std::string_view name) {
  H2Fields fields = Get();
  std::erase_if(fields, [&](const Header& field) { return field.name == name; });
  return fields;
}

TEST(H2Message, ARequestIsReadAsOneOfHttp1) {
  const auto request = RequestFromH2(Get({{"accept", "text/html"}, {"content-length", "12"}}));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->authority, "api.example.test");
  EXPECT_EQ(request->PathWithoutQuery(), "/v1/x");
  EXPECT_EQ(request->length, 12u);
  EXPECT_EQ(*request->Find("Accept"), "text/html");
}

TEST(H2Message, ARequestIsTheSameWhenItIsWrittenAgain) {
  const H2Fields fields = Get({{"te", "trailers"}, {"cookie", "a=b"}, {"cookie", "c=d"}});
  const auto request = RequestFromH2(fields);
  ASSERT_TRUE(request) << request.error().message;
  const H2Fields again = H2FieldsOf(*request);
  ASSERT_EQ(again.size(), fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(again[i].name, fields[i].name);
    EXPECT_EQ(again[i].value, fields[i].value);
  }
}

TEST(H2Message, HostBecomesAuthorityAndNamesLoseTheirCapitals) {
  auto request = RequestFromH2(Without(":authority"));
  ASSERT_TRUE(request) << request.error().message;
  request->headers.push_back({"Host", "api.example.test"});
  request->headers.push_back({"Accept-Encoding", "identity"});
  const H2Fields fields = H2FieldsOf(*request);
  ASSERT_EQ(fields.size(), 5u);
  EXPECT_EQ(fields[2].value, "api.example.test");
  EXPECT_EQ(fields[4].name, "accept-encoding");
}

TEST(H2Message, RefusesAmbiguousMessages) {
  const H2Fields bad[] = {
      {},
      Without(":method"),
      Without(":scheme"),
      Without(":path"),
      With(":scheme", "http"),
      With(":method", "CONNECT"),
      With(":method", "GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\nGET"),
      With(":method", "GE T"),
      With(":path", ""),
      With(":path", "x"),
      With(":path", "http://evil.test/"),
      With(":path", "/ HTTP/1.1\r\nx: y"),
      With(":path", "/a b"),
      With(":path", "/a#b"),
      With(":path", "*"),
      With(":authority", ""),
      With(":authority", "api.example.test\r\nx: y"),
      Get({{":path", "/other"}}),
      Get({{":protocol", "websocket"}}),
      Get({{":status", "200"}}),
      Get({{"accept", "x"}, {":authority", "evil.test"}}),
      Get({{"Accept", "x"}}),
      Get({{"", "x"}}),
      Get({{"a b", "x"}}),
      Get({{"a:b", "x"}}),
      Get({{"a\r\nb", "x"}}),
      Get({{"a", "x\r\ny: z"}}),
      Get({{"a", "x\ny"}}),
      Get({{"a", std::string("x\0y", 3)}}),
      Get({{"a", "\x7f"}}),
      Get({{"a", " x"}}),
      Get({{"a", "x\t"}}),
      Get({{"connection", "close"}}),
      Get({{"keep-alive", "1"}}),
      Get({{"proxy-connection", "x"}}),
      Get({{"transfer-encoding", "chunked"}}),
      Get({{"upgrade", "websocket"}}),
      Get({{"te", "gzip"}}),
      Get({{"content-length", "1"}, {"content-length", "1"}}),
      Get({{"content-length", "+1"}}),
      Get({{"content-length", "1, 1"}}),
      Get({{"host", "a"}, {"host", "b"}}),
      Get({{"a", std::string(70000, 'x')}}),
      Get(H2Fields(300, Header{"a", "b"})),
  };
  for (const H2Fields& each : bad) {
    const auto request = RequestFromH2(each);
    EXPECT_FALSE(request) << (each.empty() ? "" : each.back().name + "=" + each.back().value);
  }
}

TEST(H2Message, AnAnswerHasAStatusOfThreeDigits) {
  const auto answer = ResponseFromH2({{":status", "200"}, {"content-length", "3"}}, "GET");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(H2FieldsOf(*answer).size(), 2u);
  const H2Fields bad[] = {{},
                          {{"a", "b"}},
                          {{":status", "20"}},
                          {{":status", "2000"}},
                          {{":status", "2 0"}},
                          {{":status", "999"}},
                          {{":status", "101"}},
                          {{":status", "200"}, {":status", "200"}},
                          {{":status", "200"}, {"connection", "close"}},
                          {{":status", "200"}, {"a", "b\r\nc: d"}},
                          {{":method", "GET"}}};
  for (const H2Fields& each : bad) EXPECT_FALSE(ResponseFromH2(each, "GET"));
}

TEST(H2Message, TrailersOfARequestSayNothingThatBelongsInItsHead) {
  EXPECT_TRUE(CheckH2RequestTrailers({{"x-checksum", "1"}, {"grpc-status", "0"}}));
  for (const char* name :
       {"authorization", "x_http_method_override", "x-rewrite-url", "content-length"})
    EXPECT_FALSE(CheckH2RequestTrailers({{"x-checksum", "1"}, {name, "1"}})) << name;
}

TEST(H2Message, TrailersSayNothingAboutTheMessage) {
  EXPECT_TRUE(CheckH2Trailers({{"grpc-status", "0"}, {"grpc-message", ""}}));
  for (const char* name : {":status", "content-length", "transfer-encoding", "host", "connection"})
    EXPECT_FALSE(CheckH2Trailers({{name, "1"}})) << name;
}

TEST(H2Pipe, PaysForTakenBytesAndForAllOnceItIsEmpty) {
  H2Pipe pipe;
  char data[16];
  size_t paid = 0;
  pipe.Put("abcdef", 10);  // some of it is held back elsewhere
  EXPECT_EQ(pipe.Take(data, 4, paid), 4u);
  EXPECT_EQ(paid, 4u);
  EXPECT_EQ(pipe.Take(data, 4, paid), 2u);
  EXPECT_EQ(std::string(data, 2), "ef");
  EXPECT_EQ(paid, 6u);
  pipe.Put("", 3);
  EXPECT_EQ(pipe.Take(data, 4, paid), 0u);
  EXPECT_EQ(paid, 3u);
  pipe.Put("xyz", 3);
  EXPECT_EQ(pipe.Drop(), 3u);
  EXPECT_EQ(pipe.left(), 0u);
}

}  // namespace
}  // namespace cloche::egress
