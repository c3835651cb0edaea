#include "sys/sandbox_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "sys/process.h"
#include "sys/refusals.h"

namespace cloche::sys {
namespace {

struct Message {
  uint16_t type = 0, flags = 0;
  std::string body;
};

std::vector<Message> Read(const NetlinkMessages& messages) {
  std::vector<Message> list;
  const std::string& bytes = messages.bytes();
  for (size_t at = 0; at + sizeof(nlmsghdr) <= bytes.size();) {
    nlmsghdr head{};
    memcpy(&head, bytes.data() + at, sizeof head);
    EXPECT_GE(head.nlmsg_len, sizeof head);
    EXPECT_LE(at + head.nlmsg_len, bytes.size());
    list.push_back({head.nlmsg_type, head.nlmsg_flags,
                    bytes.substr(at + sizeof head, head.nlmsg_len - sizeof head)});
    at += (head.nlmsg_len + 3) & ~size_t{3};
  }
  return list;
}

size_t CountOf(const std::vector<Message>& list, int type) {
  size_t count = 0;
  for (const Message& each : list) count += each.type == (NFNL_SUBSYS_NFTABLES << 8 | type) ? 1 : 0;
  return count;
}

// Runs `work` in a child with its own network namespace; skipped if that is impossible.
int InNewNetwork(const std::function<int()>& work) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 && unshare(CLONE_NEWNET) < 0) _exit(77);
    if (BringLoopbackUp() < 0) _exit(76);
    _exit(work());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int Dial(int family, const char* address, int type, uint16_t port) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(port);
  inet_pton(AF_INET, address, &four.sin_addr);
  inet_pton(AF_INET6, address, &six.sin6_addr);
  Fd fd(socket(family, type, 0));
  const int result = family == AF_INET
                         ? connect(fd.get(), reinterpret_cast<sockaddr*>(&four), sizeof four)
                         : connect(fd.get(), reinterpret_cast<sockaddr*>(&six), sizeof six);
  if (result < 0) return -errno;
  return type == SOCK_DGRAM && send(fd.get(), "x", 1, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

TEST(BorderRules, AreOneTransaction) {
  const auto list = Read(BorderRules({1001, 1002, 1003, 1004}));
  ASSERT_GE(list.size(), 2u);
  EXPECT_EQ(list.front().type, NFNL_MSG_BATCH_BEGIN);
  EXPECT_EQ(list.back().type, NFNL_MSG_BATCH_END);
  EXPECT_EQ(CountOf(list, NFT_MSG_NEWTABLE), 2u);
  EXPECT_EQ(CountOf(list, NFT_MSG_DELTABLE), 1u);
  EXPECT_EQ(CountOf(list, NFT_MSG_NEWCHAIN), 2u);
  EXPECT_EQ(CountOf(list, NFT_MSG_NEWRULE), 9u);
}

TEST(BorderRules, OmitIpv6WithoutIpv6Sockets) {
  const auto list = Read(BorderRules({1001, 1002, 0, 0}));
  EXPECT_EQ(CountOf(list, NFT_MSG_NEWRULE), 7u);
  for (const Message& each : list) {
    // An immediate with port 0: its attribute is 6 bytes, type 1, two zero bytes.
    const char port_zero[] = {6, 0, NFTA_DATA_VALUE, 0, 0, 0};
    EXPECT_EQ(each.body.find(std::string(port_zero, sizeof port_zero)), std::string::npos);
  }
}

TEST(BorderRules, EveryMessageExceptTheEdgesIsAcknowledged) {
  const NetlinkMessages rules = BorderRules({1, 2, 3, 4});
  uint32_t acknowledged = 0;
  for (const Message& each : Read(rules)) acknowledged += (each.flags & NLM_F_ACK) != 0 ? 1 : 0;
  EXPECT_EQ(acknowledged, rules.acknowledged());
  EXPECT_EQ(acknowledged, Read(rules).size() - 2);
}

TEST(BorderRules, ReportingAddsOneRule) {
  EXPECT_EQ(CountOf(Read(BorderRules({1001, 1002, 1003, 1004}, true)), NFT_MSG_NEWRULE), 10u);
}

TEST(Refusal, IsReadFromTheRefusedPacket) {
  std::string four = {0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 9, 9, 9, 9};
  four += {'\x1f', '\x40', '\x01', '\xbb'};
  const auto udp = ParseRefused(four);
  ASSERT_TRUE(udp);
  EXPECT_EQ(udp->address, "9.9.9.9");
  EXPECT_EQ(udp->port, 443);
  EXPECT_EQ(udp->source_port, 8000);
  EXPECT_STREQ(ProtocolName(udp->protocol), "UDP");
  for (size_t size = 0; size < 20; ++size) EXPECT_FALSE(ParseRefused(four.substr(0, size)));
  four[0] = 0x4f;  // a header longer than the packet
  EXPECT_FALSE(ParseRefused(four));
  four[0] = 0x15;
  EXPECT_FALSE(ParseRefused(four));
  std::string six(44, '\0');
  six[0] = 0x60;
  six[6] = 58;
  six[39] = 1;
  const auto ping = ParseRefused(six);
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->address, "::1");
  EXPECT_EQ(ping->port, 0);
  EXPECT_STREQ(ProtocolName(ping->protocol), "ICMP");
}

TEST(Border, TakesAllTcpAndDnsAndRefusesTheRest) {
  const int result = InNewNetwork([] {
    BorderSockets sockets;
    Fd refusals;
    const char* failed = "";
    if (OpenBorderSockets(sockets) < 0) return 1;
    if (Dial(AF_INET, "198.18.0.7", SOCK_STREAM, 443) == 0) return 2;  // the control
    if (CloseBorder(PortsOf(sockets), refusals, failed) < 0) return 3;
    if (Dial(AF_INET, "198.18.0.7", SOCK_STREAM, 443) != 0) return 4;
    Fd got(accept(sockets.tcp4.get(), nullptr, nullptr));
    sockaddr_in destination{};
    socklen_t size = sizeof destination;
    constexpr int kOriginal = 80;
    if (getsockopt(got.get(), IPPROTO_IP, kOriginal, &destination, &size) < 0) return 5;
    if (destination.sin_port != htons(443) ||
        destination.sin_addr.s_addr != inet_addr("198.18.0.7"))
      return 6;
    if (Dial(AF_INET, "127.0.0.1", SOCK_STREAM, 1) != -ECONNREFUSED) return 7;
    if (Dial(AF_INET, "9.9.9.9", SOCK_DGRAM, 53) != 0) return 8;
    char question[8];
    if (recv(sockets.dns4.get(), question, sizeof question, 0) != 1) return 9;
    if (Dial(AF_INET, "127.0.0.53", SOCK_DGRAM, 53) != 0) return 10;
    if (recv(sockets.dns4.get(), question, sizeof question, 0) != 1) return 11;
    if (Dial(AF_INET, "9.9.9.9", SOCK_DGRAM, 443) != -EPERM) return 12;
    if (refusals.valid()) {
      const auto list = ReadRefusals(refusals.get());
      if (list.size() != 1 || list[0].address != "9.9.9.9" || list[0].port != 443) return 19;
      if (list[0].protocol != IPPROTO_UDP || list[0].source_port == 0) return 20;
    }
    if (sockets.tcp6.valid()) {
      if (Dial(AF_INET6, "2001:db8::1", SOCK_STREAM, 443) != 0) return 13;
      Fd six(accept(sockets.tcp6.get(), nullptr, nullptr));
      if (!six.valid()) return 14;
      if (Dial(AF_INET6, "2001:db8::1", SOCK_DGRAM, 443) != -EPERM) return 15;
    }
    // Once more, with other sockets: the new ones get it.
    BorderSockets others;
    if (OpenBorderSockets(others) < 0 || CloseBorder(PortsOf(others), refusals, failed) < 0)
      return 16;
    if (Dial(AF_INET, "198.18.0.8", SOCK_STREAM, 80) != 0) return 17;
    Fd again(accept(others.tcp4.get(), nullptr, nullptr));
    return again.valid() ? 0 : 18;
  });
  if (result == 77) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(result, 0);
}

TEST(Border, ASocketLeadsIntoItsNamespace) {
  const int result = InNewNetwork([] {
    Fd inside(socket(AF_UNIX, SOCK_DGRAM, 0));
    BorderSockets sockets;
    if (OpenBorderSockets(sockets) < 0) return 1;
    const uint16_t port = PortsOf(sockets).tcp4;
    if (unshare(CLONE_NEWNET) < 0) return 2;
    if (ConnectToLoopback(port) >= 0) return 3;
    if (EnterNetworkOfSocket(inside.get()) < 0) return 4;
    return ConnectToLoopback(port) >= 0 ? 0 : 5;
  });
  if (result == 77) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace cloche::sys
