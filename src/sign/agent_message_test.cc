#include "sign/agent_message.h"

#include <gtest/gtest.h>

namespace cloche::sign {
namespace {

std::string Text(std::string_view text) { return Framed(text); }

std::string Login(std::string_view key, std::string_view host_key = "") {
  std::string data = Text("session") + '\x32' + Text("git") + Text("ssh-connection");
  data += Text(host_key.empty() ? "publickey" : "publickey-hostbound-v00@openssh.com");
  data += '\x01' + Text("ssh-ed25519") + Text(key);
  if (!host_key.empty()) data += Text(host_key);
  return data;
}

std::string File(std::string_view name_space) {
  return "SSHSIG" + Text(name_space) + Text("") + Text("sha512") + Text(std::string(64, 'h'));
}

TEST(AgentMessage, IsTakenWholeOrNotAtAll) {
  const std::string bytes = Framed("\x0b");
  std::string_view message;
  size_t used = 0;
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(TakeMessage(std::string_view(bytes).substr(0, size), 10, message, used),
              Framing::kMore);
  EXPECT_EQ(TakeMessage(bytes, 10, message, used), Framing::kDone);
  EXPECT_EQ(message, "\x0b");
  EXPECT_EQ(used, 5u);
}

TEST(AgentMessage, OfNoLengthOrTooMuchIsBad) {
  std::string_view message;
  size_t used = 0;
  EXPECT_EQ(TakeMessage(std::string(4, '\0'), 10, message, used), Framing::kBad);
  EXPECT_EQ(TakeMessage(Framed(std::string(11, 'x')), 10, message, used), Framing::kBad);
  EXPECT_EQ(TakeMessage("\xff\xff\xff\xff", 10, message, used), Framing::kBad);
}

TEST(AgentMessage, IdentitiesAreTheSameWhenWrittenAgain) {
  const std::vector<Identity> keys = {{"blob", "anna@home"}, {"other", ""}};
  EXPECT_EQ(ParseIdentities(WriteIdentities(keys)), keys);
  EXPECT_FALSE(ParseIdentities(WriteIdentities(keys) + "x"));
  const std::string text = WriteIdentities(keys);
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(ParseIdentities(std::string_view(text).substr(0, size))) << size;
}

TEST(AgentMessage, SignRequestEndsWhereItShould) {
  const std::string text = WriteSignRequest({"key", "data", 4});
  const auto request = ParseSignRequest(text);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->key, "key");
  EXPECT_EQ(request->data, "data");
  EXPECT_EQ(request->flags, 4u);
  EXPECT_FALSE(ParseSignRequest(text + "x"));
  EXPECT_FALSE(ParseSignRequest(std::string_view(text).substr(0, text.size() - 1)));
}

TEST(AgentMessage, SessionBindNamesTheHost) {
  std::string text = "\x1b" + Text("session-bind@openssh.com") + Text("host") + Text("id") +
                     Text("signature") + '\0';
  const auto bind = ParseSessionBind(text);
  ASSERT_TRUE(bind);
  EXPECT_EQ(bind->host_key, "host");
  EXPECT_EQ(bind->session, "id");
  EXPECT_FALSE(bind->forwarding);
  text.back() = '\x01';
  EXPECT_TRUE(ParseSessionBind(text)->forwarding);
  text.back() = '\x02';
  EXPECT_FALSE(ParseSessionBind(text));
  EXPECT_FALSE(ParseSessionBind("\x1b" + Text("query")));
}

TEST(Purpose, OfALogin) {
  const std::string data = Login("key");
  const Purpose login = PurposeOf(data, "key");
  EXPECT_EQ(login.kind, Purpose::Kind::kLogin);
  EXPECT_EQ(login.user, "git");
  EXPECT_EQ(login.session, "session");
  EXPECT_EQ(login.host_key, "");
  const std::string bound = Login("key", "host");
  EXPECT_EQ(PurposeOf(bound, "key").host_key, "host");
}

TEST(Purpose, OfALoginWithAnotherKeyIsUnknown) {
  EXPECT_EQ(PurposeOf(Login("other"), "key").kind, Purpose::Kind::kUnknown);
}

TEST(Purpose, OfTruncatedOrLongerDataIsUnknown) {
  for (const std::string& data : {Login("key"), Login("key", "host"), File("git")}) {
    EXPECT_NE(PurposeOf(data, "key").kind, Purpose::Kind::kUnknown);
    EXPECT_EQ(PurposeOf(data + "x", "key").kind, Purpose::Kind::kUnknown);
    for (size_t size = 0; size < data.size(); ++size)
      EXPECT_EQ(PurposeOf(std::string_view(data).substr(0, size), "key").kind,
                Purpose::Kind::kUnknown)
          << size;
  }
}

TEST(Purpose, OfAFileIsItsNamespace) {
  const std::string data = File("git");
  const Purpose file = PurposeOf(data, "key");
  EXPECT_EQ(file.kind, Purpose::Kind::kFile);
  EXPECT_EQ(file.name_space, "git");
}

}  // namespace
}  // namespace cloche::sign
