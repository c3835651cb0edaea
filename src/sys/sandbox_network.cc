#include "sys/sandbox_network.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <initializer_list>
#include <utility>

namespace cloche::sys {
namespace {

constexpr char kTable[] = "cloche";
constexpr char kDivert[] = "divert";  // sends TCP and DNS to us
constexpr char kBar[] = "bar";        // refuses everything else except to loopback
constexpr uint16_t kDnsPort = 53;
constexpr int kBacklog = 4096;
constexpr int kConnectMs = 5000;
// Nobody sends from these (RFC 7600's dummy address, and a unique local address that no name maps
// to). But with only loopback's own, getaddrinfo with AI_ADDRCONFIG thinks that the machine has no
// network.
constexpr char kAddress4[] = "192.0.0.8";
constexpr char kAddress6[] = "fdc1:c4e:ffff::1";
constexpr int kDivertPriority = -100;  // as nft's dstnat
constexpr uint32_t kRegister = NFT_REG_1;
constexpr uint16_t kReportGroup = 1;  // of nfnetlink_log
constexpr uint32_t kReportedBytes = 64;
constexpr uint64_t kReportsPerSecond = 10;
constexpr uint32_t kReportsAtOnce = 20;
// From <linux/if_link.h>; Debian 12's does not have them all.
constexpr uint16_t kGsoMaxSize = 41, kGroMaxSize = 58, kGsoIpv4MaxSize = 63, kGroIpv4MaxSize = 64;
constexpr uint32_t kLargePacket = 8 * 65536 - 8;  // the maximum

template <typename T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

uint16_t NftType(int message) { return static_cast<uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message); }

void BeginNft(NetlinkMessages& batch, int message, uint16_t flags) {
  const nfgenmsg head{NFPROTO_INET, NFNETLINK_V0, 0};
  batch.Begin(NftType(message), flags, BytesOf(head));
}

void BatchEdge(NetlinkMessages& batch, uint16_t type) {
  const nfgenmsg head{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)};
  batch.Begin(type, 0, BytesOf(head), true);
  batch.End();
}

void PutTable(NetlinkMessages& batch, int message, uint16_t flags) {
  BeginNft(batch, message, flags);
  batch.PutText(NFTA_TABLE_NAME, kTable);
  batch.End();
}

void PutChain(NetlinkMessages& batch, const char* name, const char* type, int priority,
              uint32_t policy) {
  BeginNft(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  batch.PutText(NFTA_CHAIN_TABLE, kTable);
  batch.PutText(NFTA_CHAIN_NAME, name);
  batch.BeginNest(NFTA_CHAIN_HOOK);
  batch.PutNetNumber(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
  batch.PutNetNumber(NFTA_HOOK_PRIORITY, static_cast<uint32_t>(priority));
  batch.EndNest();
  batch.PutText(NFTA_CHAIN_TYPE, type);
  batch.PutNetNumber(NFTA_CHAIN_POLICY, policy);
  batch.End();
}

// One rule: expressions in order, each narrowing the previous.
class Rule {
 public:
  Rule(NetlinkMessages& batch, const char* chain) : batch_(batch) {
    BeginNft(batch_, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    batch_.PutText(NFTA_RULE_TABLE, kTable);
    batch_.PutText(NFTA_RULE_CHAIN, chain);
    batch_.BeginNest(NFTA_RULE_EXPRESSIONS);
  }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;
  ~Rule() {
    batch_.EndNest();
    batch_.End();
  }

  Rule& OfFamily(uint8_t family) {
    Load(NFT_META_NFPROTO);
    return Compare(NFT_CMP_EQ, BytesOf(family));
  }
  Rule& OfProtocol(uint8_t protocol) {
    Load(NFT_META_L4PROTO);
    return Compare(NFT_CMP_EQ, BytesOf(protocol));
  }
  Rule& ToLoopback4() {
    constexpr uint8_t kNet = 127;
    OfFamily(NFPROTO_IPV4);
    LoadPayload(NFT_PAYLOAD_NETWORK_HEADER, 16, 1);
    return Compare(NFT_CMP_EQ, BytesOf(kNet));
  }
  Rule& ToLoopback6() {
    OfFamily(NFPROTO_IPV6);
    LoadPayload(NFT_PAYLOAD_NETWORK_HEADER, 24, 16);
    return Compare(NFT_CMP_EQ, BytesOf(in6addr_loopback));
  }
  Rule& ToPort(uint16_t port, bool equal = true) {
    const uint16_t bytes = htons(port);
    LoadPayload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
    return Compare(equal ? NFT_CMP_EQ : NFT_CMP_NEQ, BytesOf(bytes));
  }

  void RedirectTo(uint16_t port) {
    const uint16_t bytes = htons(port);
    BeginExpression("immediate");
    batch_.PutNetNumber(NFTA_IMMEDIATE_DREG, kRegister);
    batch_.BeginNest(NFTA_IMMEDIATE_DATA);
    batch_.Put(NFTA_DATA_VALUE, BytesOf(bytes));
    batch_.EndNest();
    EndExpression();
    BeginExpression("redir");
    batch_.PutNetNumber(NFTA_REDIR_REG_PROTO_MIN, kRegister);
    batch_.PutNetNumber(NFTA_REDIR_FLAGS, NF_NAT_RANGE_PROTO_SPECIFIED);
    EndExpression();
  }
  void Verdict(int verdict) {
    BeginExpression("immediate");
    batch_.PutNetNumber(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    batch_.BeginNest(NFTA_IMMEDIATE_DATA);
    batch_.BeginNest(NFTA_DATA_VERDICT);
    batch_.PutNetNumber(NFTA_VERDICT_CODE, static_cast<uint32_t>(verdict));
    batch_.EndNest();
    batch_.EndNest();
    EndExpression();
  }
  void Report() {
    BeginExpression("limit");
    PutWide(NFTA_LIMIT_RATE, kReportsPerSecond);
    PutWide(NFTA_LIMIT_UNIT, 1);
    batch_.PutNetNumber(NFTA_LIMIT_BURST, kReportsAtOnce);
    batch_.PutNetNumber(NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
    EndExpression();
    const uint16_t group = htons(kReportGroup);
    BeginExpression("log");
    batch_.Put(NFTA_LOG_GROUP, BytesOf(group));
    batch_.PutNetNumber(NFTA_LOG_SNAPLEN, kReportedBytes);
    EndExpression();
  }
  void Reject() {
    constexpr uint8_t kCode = NFT_REJECT_ICMPX_PORT_UNREACH;
    BeginExpression("reject");
    batch_.PutNetNumber(NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
    batch_.Put(NFTA_REJECT_ICMP_CODE, BytesOf(kCode));
    EndExpression();
  }

 private:
  void BeginExpression(const char* name) {
    batch_.BeginNest(NFTA_LIST_ELEM);
    batch_.PutText(NFTA_EXPR_NAME, name);
    batch_.BeginNest(NFTA_EXPR_DATA);
  }
  void EndExpression() {
    batch_.EndNest();
    batch_.EndNest();
  }
  void PutWide(uint16_t type, uint64_t value) {
    const uint64_t bytes = htobe64(value);
    batch_.Put(type, BytesOf(bytes));
  }
  void Load(uint32_t key) {
    BeginExpression("meta");
    batch_.PutNetNumber(NFTA_META_DREG, kRegister);
    batch_.PutNetNumber(NFTA_META_KEY, key);
    EndExpression();
  }
  void LoadPayload(uint32_t base, uint32_t offset, uint32_t size) {
    BeginExpression("payload");
    batch_.PutNetNumber(NFTA_PAYLOAD_DREG, kRegister);
    batch_.PutNetNumber(NFTA_PAYLOAD_BASE, base);
    batch_.PutNetNumber(NFTA_PAYLOAD_OFFSET, offset);
    batch_.PutNetNumber(NFTA_PAYLOAD_LEN, size);
    EndExpression();
  }
  Rule& Compare(uint32_t operation, std::string_view value) {
    BeginExpression("cmp");
    batch_.PutNetNumber(NFTA_CMP_SREG, kRegister);
    batch_.PutNetNumber(NFTA_CMP_OP, operation);
    batch_.BeginNest(NFTA_CMP_DATA);
    batch_.Put(NFTA_DATA_VALUE, value);
    batch_.EndNest();
    EndExpression();
    return *this;
  }

  NetlinkMessages& batch_;
};

union Address {
  sockaddr any;
  sockaddr_in four;
  sockaddr_in6 six;
};

Address Loopback(int family, uint16_t port, socklen_t& size) {
  Address address{};
  if (family == AF_INET) {
    address.four.sin_family = AF_INET;
    address.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.four.sin_port = htons(port);
    size = sizeof address.four;
  } else {
    address.six.sin6_family = AF_INET6;
    address.six.sin6_addr = in6addr_loopback;
    address.six.sin6_port = htons(port);
    size = sizeof address.six;
  }
  return address;
}

int OpenAtLoopback(int family, int type, Fd& fd) {
  socklen_t size = 0;
  const Address address = Loopback(family, 0, size);
  fd = Fd(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() || bind(fd.get(), &address.any, size) < 0 ||
      (type == SOCK_STREAM && listen(fd.get(), kBacklog) < 0)) {
    const int error = -errno;
    fd.Reset();
    return error;
  }
  return 0;
}

uint16_t PortOf(const Fd& fd) {
  Address address{};
  socklen_t size = sizeof address;
  if (!fd.valid() || getsockname(fd.get(), &address.any, &size) < 0) return 0;
  return ntohs(address.any.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port);
}

// Bound to the group that the rules report to: 64 bytes of each packet, immediately.
int OpenRefusals(Fd& log) {
  log = Fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!log.valid()) return -errno;
  const nfgenmsg head{AF_UNSPEC, NFNETLINK_V0, htons(kReportGroup)};
  constexpr uint16_t kConfig = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;
  NetlinkMessages bind_group, mode;
  nfulnl_msg_config_cmd command{};
  command.command = NFULNL_CFG_CMD_BIND;
  bind_group.Begin(kConfig, 0, BytesOf(head));
  bind_group.Put(NFULA_CFG_CMD, BytesOf(command));
  bind_group.End();
  nfulnl_msg_config_mode copied{};
  copied.copy_range = htonl(kReportedBytes);
  copied.copy_mode = NFULNL_COPY_PACKET;
  mode.Begin(kConfig, 0, BytesOf(head));
  mode.Put(NFULA_CFG_MODE, BytesOf(copied));
  mode.PutNetNumber(NFULA_CFG_QTHRESH, 1);
  mode.End();
  for (const NetlinkMessages* each : {&bind_group, &mode})
    if (int error = TalkNetlinkOver(log.get(), *each); error < 0) return error;
  return 0;
}

// Half a megabyte per packet instead of 64 KiB halves the cost of a download. Both are optional:
// IPv6 supports it since 5.19, IPv4 since 6.3.
void AllowLargePackets(uint32_t loopback) {
  for (const auto& [send, receive] :
       {std::pair{kGsoMaxSize, kGroMaxSize}, {kGsoIpv4MaxSize, kGroIpv4MaxSize}}) {
    NetlinkMessages link;
    ifinfomsg head{};
    head.ifi_index = static_cast<int>(loopback);
    link.Begin(RTM_NEWLINK, 0, BytesOf(head));
    link.PutNumber(send, kLargePacket);
    link.PutNumber(receive, kLargePacket);
    link.End();
    (void)TalkNetlink(NETLINK_ROUTE, link);
  }
}

}  // namespace

int EnterNetworkOf(int pidfd) { return setns(pidfd, CLONE_NEWNET) < 0 ? -errno : 0; }

int EnterNetworkOfSocket(int socket) {
  Fd space(ioctl(socket, SIOCGSKNS));
  if (!space.valid()) return -errno;
  return setns(space.get(), CLONE_NEWNET) < 0 ? -errno : 0;
}

int OpenBorderSockets(BorderSockets& sockets) {
  if (int error = OpenAtLoopback(AF_INET, SOCK_STREAM, sockets.tcp4); error < 0) return error;
  if (int error = OpenAtLoopback(AF_INET, SOCK_DGRAM, sockets.dns4); error < 0) return error;
  if (int error = OpenAtLoopback(AF_INET, SOCK_STREAM, sockets.proxy4); error < 0) return error;
  // Both or none.
  if (OpenAtLoopback(AF_INET6, SOCK_STREAM, sockets.tcp6) < 0 ||
      OpenAtLoopback(AF_INET6, SOCK_DGRAM, sockets.dns6) < 0) {
    sockets.tcp6.Reset();
    sockets.dns6.Reset();
  }
  return 0;
}

BorderPorts PortsOf(const BorderSockets& sockets) {
  return {PortOf(sockets.tcp4), PortOf(sockets.dns4), PortOf(sockets.tcp6), PortOf(sockets.dns6)};
}

NetlinkMessages BorderRules(const BorderPorts& ports, bool report) {
  NetlinkMessages batch;
  BatchEdge(batch, NFNL_MSG_BATCH_BEGIN);
  // Deleting a missing table fails, so: create, delete, create.
  PutTable(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
  PutTable(batch, NFT_MSG_DELTABLE, 0);
  PutTable(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
  PutChain(batch, kDivert, "nat", kDivertPriority, NF_ACCEPT);
  PutChain(batch, kBar, "filter", 0, NF_DROP);

  const bool six = ports.tcp6 != 0;
  // Whichever server is queried, even one on loopback: we answer.
  Rule(batch, kDivert)
      .OfFamily(NFPROTO_IPV4)
      .OfProtocol(IPPROTO_UDP)
      .ToPort(kDnsPort)
      .RedirectTo(ports.dns4);
  if (six)
    Rule(batch, kDivert)
        .OfFamily(NFPROTO_IPV6)
        .OfProtocol(IPPROTO_UDP)
        .ToPort(kDnsPort)
        .RedirectTo(ports.dns6);
  // Connections to the sandbox's own servers are left alone.
  Rule(batch, kDivert)
      .ToLoopback4()
      .OfProtocol(IPPROTO_TCP)
      .ToPort(kDnsPort, false)
      .Verdict(NFT_RETURN);
  Rule(batch, kDivert)
      .ToLoopback6()
      .OfProtocol(IPPROTO_TCP)
      .ToPort(kDnsPort, false)
      .Verdict(NFT_RETURN);
  Rule(batch, kDivert).OfFamily(NFPROTO_IPV4).OfProtocol(IPPROTO_TCP).RedirectTo(ports.tcp4);
  if (six)
    Rule(batch, kDivert).OfFamily(NFPROTO_IPV6).OfProtocol(IPPROTO_TCP).RedirectTo(ports.tcp6);

  // After the diversion. Everything left leads nowhere, so it is rejected at once instead of
  // dropped silently.
  Rule(batch, kBar).ToLoopback4().Verdict(NF_ACCEPT);
  Rule(batch, kBar).ToLoopback6().Verdict(NF_ACCEPT);
  if (report) Rule(batch, kBar).Report();
  Rule(batch, kBar).Reject();
  BatchEdge(batch, NFNL_MSG_BATCH_END);
  return batch;
}

NetlinkMessages BorderRoute4(uint32_t loopback) {
  NetlinkMessages route;
  rtmsg head{};
  head.rtm_family = AF_INET;
  head.rtm_table = RT_TABLE_MAIN;
  head.rtm_protocol = RTPROT_STATIC;
  head.rtm_scope = RT_SCOPE_LINK;
  head.rtm_type = RTN_UNICAST;
  route.Begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, BytesOf(head));
  // Without it packets would leave from 0.0.0.0: loopback's own address has a narrower scope.
  route.PutNumber(RTA_PREFSRC, htonl(INADDR_LOOPBACK));
  route.PutNumber(RTA_OIF, loopback);
  route.End();
  return route;
}

NetlinkMessages BorderRoute6(uint32_t loopback) {
  NetlinkMessages route;
  rtmsg head{};
  head.rtm_family = AF_INET6;
  head.rtm_table = RT_TABLE_MAIN;
  head.rtm_protocol = RTPROT_STATIC;
  // The kernel turns any other kind of route into `lo` into an unreachable one.
  head.rtm_type = RTN_LOCAL;
  route.Begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, BytesOf(head));
  route.Put(RTA_PREFSRC, BytesOf(in6addr_loopback));
  route.PutNumber(RTA_OIF, loopback);
  route.End();
  return route;
}

NetlinkMessages BorderAddress(int family, uint32_t loopback) {
  NetlinkMessages message;
  ifaddrmsg head{};
  head.ifa_family = static_cast<uint8_t>(family);
  head.ifa_prefixlen = family == AF_INET ? 32 : 128;
  head.ifa_flags = family == AF_INET ? 0 : IFA_F_NODAD;
  head.ifa_scope = RT_SCOPE_UNIVERSE;
  head.ifa_index = loopback;
  message.Begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, BytesOf(head));
  in6_addr six{};
  inet_pton(AF_INET6, kAddress6, &six);
  const in_addr_t four = inet_addr(kAddress4);
  const std::string_view address = family == AF_INET ? BytesOf(four) : BytesOf(six);
  message.Put(IFA_LOCAL, address);
  message.Put(IFA_ADDRESS, address);
  message.End();
  return message;
}

int CloseBorder(const BorderPorts& ports, Fd& refusals, const char*& failed) {
  const uint32_t loopback = if_nametoindex("lo");
  AllowLargePackets(loopback);
  // The rules first: nothing is routed before they are in force. If the kernel cannot report
  // refusals, do the rest without.
  failed = "load nf_tables rules";
  if (OpenRefusals(refusals) < 0 || TalkNetlink(NETLINK_NETFILTER, BorderRules(ports, true)) < 0) {
    refusals.Reset();
    if (int error = TalkNetlink(NETLINK_NETFILTER, BorderRules(ports)); error < 0) return error;
  }
  failed = "add default route";
  if (int error = TalkNetlink(NETLINK_ROUTE, BorderRoute4(loopback)); error < 0) return error;
  failed = "add an address";
  if (int error = TalkNetlink(NETLINK_ROUTE, BorderAddress(AF_INET, loopback)); error < 0)
    return error;
  if (ports.tcp6 == 0) return 0;
  failed = "add default route for IPv6";
  if (int error = TalkNetlink(NETLINK_ROUTE, BorderRoute6(loopback)); error < 0) return error;
  failed = "add an address for IPv6";
  return TalkNetlink(NETLINK_ROUTE, BorderAddress(AF_INET6, loopback));
}

int ConnectToLoopback(uint16_t port) {
  int error = -ECONNREFUSED;
  for (const int family : {AF_INET, AF_INET6}) {
    socklen_t size = 0;
    const Address address = Loopback(family, port, size);
    Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) continue;
    int result = connect(fd.get(), &address.any, size) < 0 ? errno : 0;
    if (result == EINPROGRESS) {
      pollfd writable{fd.get(), POLLOUT, 0};
      socklen_t length = sizeof result;
      if (poll(&writable, 1, kConnectMs) != 1)
        result = ETIMEDOUT;
      else
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &result, &length);
    }
    if (result == 0) return fd.Release();
    if (family == AF_INET) error = -result;
  }
  return error;
}

}  // namespace cloche::sys
