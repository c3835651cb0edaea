#include "sys/refusals.h"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <utility>

namespace cloche::sys {

std::optional<Refusal> ParseRefused(std::string_view packet) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(packet[at]); };
  if (packet.size() < 20) return std::nullopt;
  const bool four = byte(0) >> 4 == 4;
  const size_t head = four ? (byte(0) & 15u) * 4u : 40u;
  if ((!four && byte(0) >> 4 != 6) || packet.size() < head || head < 20) return std::nullopt;
  Refusal refusal;
  refusal.protocol = byte(four ? 9 : 6);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(four ? AF_INET : AF_INET6, packet.data() + (four ? 16 : 24), text, sizeof text);
  refusal.address = text;
  const bool ported = refusal.protocol == IPPROTO_UDP || refusal.protocol == IPPROTO_UDPLITE ||
                      refusal.protocol == IPPROTO_SCTP || refusal.protocol == IPPROTO_TCP;
  if (ported && packet.size() >= head + 4) {
    refusal.source_port = static_cast<uint16_t>(byte(head) << 8 | byte(head + 1));
    refusal.port = static_cast<uint16_t>(byte(head + 2) << 8 | byte(head + 3));
  }
  return refusal;
}

const char* ProtocolName(uint8_t protocol) {
  switch (protocol) {
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
      return "ICMP";
    case IPPROTO_TCP:
      return "TCP";
    case IPPROTO_UDP:
      return "UDP";
    case IPPROTO_UDPLITE:
      return "UDP-Lite";
    case IPPROTO_SCTP:
      return "SCTP";
    default:
      return "IP";
  }
}

std::vector<Refusal> ReadRefusals(int log) {
  std::vector<Refusal> list;
  alignas(nlmsghdr) char answer[8192];
  for (ssize_t got; (got = recv(log, answer, sizeof answer, MSG_DONTWAIT)) > 0;) {
    auto left = static_cast<uint32_t>(got);
    for (auto* head = reinterpret_cast<nlmsghdr*>(answer); NLMSG_OK(head, left);
         head = NLMSG_NEXT(head, left)) {
      if (head->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET)) continue;
      const char* bytes = static_cast<const char*>(NLMSG_DATA(head));
      const size_t size = head->nlmsg_len - NLMSG_HDRLEN;
      for (size_t at = sizeof(nfgenmsg); at + sizeof(nlattr) <= size;) {
        nlattr attribute{};
        memcpy(&attribute, bytes + at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || at + attribute.nla_len > size) break;
        if ((attribute.nla_type & NLA_TYPE_MASK) == NFULA_PAYLOAD)
          if (auto refusal = ParseRefused(
                  {bytes + at + sizeof attribute, attribute.nla_len - sizeof attribute}))
            list.push_back(std::move(*refusal));
        at += (attribute.nla_len + 3u) & ~3u;
      }
    }
  }
  return list;
}

}  // namespace cloche::sys
