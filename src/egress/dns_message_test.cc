#include "egress/dns_message.h"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

using namespace std::string_literals;

TEST(DnsQuery, IsRead) {
  const auto query = ParseDnsQuery(MakeDnsQuestion(0x1234, "Api.Example.com", kDnsA));
  ASSERT_TRUE(query);
  EXPECT_EQ(query->id, 0x1234);
  EXPECT_EQ(query->name, "api.example.com");
  EXPECT_EQ(query->type, kDnsA);
  EXPECT_EQ(query->refuse_with, 0);
}

TEST(DnsQuery, OddOnesAreNotAnswered) {
  const std::string good = MakeDnsQuestion(1, "a.example", kDnsA);
  EXPECT_FALSE(ParseDnsQuery(""));
  EXPECT_FALSE(ParseDnsQuery(good.substr(0, 11)));
  std::string answer = good;
  answer[2] = static_cast<char>(0x80);
  EXPECT_FALSE(ParseDnsQuery(answer)) << "an answer is not a query";
  std::string two = good;
  two[5] = 2;
  EXPECT_EQ(ParseDnsQuery(two)->refuse_with, kDnsFormatError);
  std::string update = good;
  update[2] = 0x28;
  EXPECT_EQ(ParseDnsQuery(update)->refuse_with, kDnsNotImplemented);
  for (size_t cut = 12; cut < 27; ++cut)
    EXPECT_EQ(ParseDnsQuery(good.substr(0, cut))->refuse_with, kDnsFormatError) << cut;
  const std::string pointer = good.substr(0, 12) + "\xc0\x0c\0\1\0\1"s;
  EXPECT_EQ(ParseDnsQuery(pointer)->refuse_with, kDnsFormatError) << "a question points nowhere";
  const std::string dotted = good.substr(0, 12) + "\3a.b\7example\0\0\1\0\1"s;
  EXPECT_EQ(ParseDnsQuery(dotted)->refuse_with, kDnsFormatError) << "a dot in a label";
  const std::string zero = good.substr(0, 12) + "\3a\0b\7example\0\0\1\0\1"s;
  EXPECT_EQ(ParseDnsQuery(zero)->name, "") << "no host name";
  std::string chaos = good.substr(0, 12) + "\1a\0\0\1\0\3"s;
  EXPECT_EQ(ParseDnsQuery(chaos)->refuse_with, kDnsRefused);
}

TEST(DnsAnswer, GoesThereAndBack) {
  const std::string question = MakeDnsQuestion(7, "a.ExAmple", kDnsAaaa);
  const auto query = ParseDnsQuery(question);
  const std::vector<IpAddress> addresses = {*ParseIpAddress("fd00::1"), *ParseIpAddress("::2")};
  const std::string message = MakeDnsAnswer(*query, kDnsNoError, addresses, 60);
  const auto answer = ParseDnsAnswer(message, question);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->addresses, addresses);
  EXPECT_EQ(answer->ttl, 60u);
  EXPECT_EQ(ParseDnsAnswer(MakeDnsAnswer(*query, kDnsNoSuchName, {}, 0), question)->rcode, 3);
}

TEST(DnsAnswer, OfAnotherQuestionIsRefused) {
  const std::string question = MakeDnsQuestion(7, "a.Example", kDnsA);
  const std::string message =
      MakeDnsAnswer(*ParseDnsQuery(question), kDnsNoError, {Ipv4(1, 2, 3, 4)}, 60);
  ASSERT_TRUE(ParseDnsAnswer(message, question));
  EXPECT_FALSE(ParseDnsAnswer(message, MakeDnsQuestion(8, "a.Example", kDnsA)));
  EXPECT_FALSE(ParseDnsAnswer(message, MakeDnsQuestion(7, "a.example", kDnsA))) << "capitals";
  EXPECT_FALSE(ParseDnsAnswer(message, MakeDnsQuestion(7, "b.Example", kDnsA)));
  EXPECT_FALSE(ParseDnsAnswer(message, MakeDnsQuestion(7, "a.Example", kDnsAaaa)));
  for (size_t cut = 0; cut < message.size(); ++cut)
    EXPECT_FALSE(ParseDnsAnswer(message.substr(0, cut), question)) << cut;
}

std::string Answered(const std::string& question, const std::string& records, char count) {
  std::string message = MakeDnsAnswer(*ParseDnsQuery(question), kDnsNoError, {}, 0);
  message[7] = count;
  return message + records;
}

TEST(DnsAnswer, AliasesAreFollowedAndOthersIgnored) {
  const std::string question = MakeDnsQuestion(7, "a.b", kDnsA);           // name at 12, "b" at 14
  const std::string alias = "\xc0\x0c\0\5\0\1\0\0\0\x09\0\4\1c\xc0\x0e"s;  // a.b is c.b
  const std::string right = "\1c\xc0\x0e\0\1\0\1\0\0\0\x1e\0\4\1\2\3\4"s;  // c.b
  const std::string wrong = "\1d\xc0\x0e\0\1\0\1\0\0\0\x1e\0\4\x7f\0\0\1"s;  // d.b
  const auto answer = ParseDnsAnswer(Answered(question, right + wrong + alias, 3), question);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->addresses, std::vector<IpAddress>{Ipv4(1, 2, 3, 4)});
  EXPECT_EQ(answer->ttl, 9u);
  const std::string circle = "\xc0\x0c\0\5\0\1\0\0\0\x09\0\2\xc0\x0c"s;
  EXPECT_FALSE(ParseDnsAnswer(Answered(question, circle, 1), question));
  const std::string forward = "\xc0\xff\0\5\0\1\0\0\0\x09\0\2\xc0\x0c"s;
  EXPECT_FALSE(ParseDnsAnswer(Answered(question, forward, 1), question));
}

}  // namespace
}  // namespace cloche::egress
