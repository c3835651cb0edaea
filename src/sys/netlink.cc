#include "sys/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sys/fd.h"

namespace cloche::sys {
namespace {

constexpr time_t kPatienceSeconds = 5;  // the kernel answers at once, or not at all

template <typename T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

void NetlinkMessages::Pad() { bytes_.resize((bytes_.size() + 3) & ~size_t{3}); }

void NetlinkMessages::Begin(uint16_t type, uint16_t flags, std::string_view body, bool quiet) {
  message_ = bytes_.size();
  nlmsghdr head{};
  head.nlmsg_type = type;
  head.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags | (quiet ? 0 : NLM_F_ACK));
  head.nlmsg_seq = ++sequence_;
  if (!quiet) ++acknowledged_;
  bytes_ += BytesOf(head);
  bytes_ += body;
  Pad();
}

void NetlinkMessages::End() {
  const uint32_t size = static_cast<uint32_t>(bytes_.size() - message_);
  memcpy(bytes_.data() + message_ + offsetof(nlmsghdr, nlmsg_len), &size, sizeof size);
}

void NetlinkMessages::Put(uint16_t type, std::string_view value) {
  nlattr head{static_cast<uint16_t>(sizeof(nlattr) + value.size()), type};
  bytes_ += BytesOf(head);
  bytes_ += value;
  Pad();
}

void NetlinkMessages::PutText(uint16_t type, std::string_view text) {
  Put(type, std::string(text) + '\0');
}

void NetlinkMessages::PutNumber(uint16_t type, uint32_t value) { Put(type, BytesOf(value)); }

void NetlinkMessages::PutNetNumber(uint16_t type, uint32_t value) { PutNumber(type, htonl(value)); }

void NetlinkMessages::BeginNest(uint16_t type) {
  nests_.push_back(bytes_.size());
  Put(type | NLA_F_NESTED, "");
}

void NetlinkMessages::EndNest() {
  const size_t start = nests_.back();
  nests_.pop_back();
  const uint16_t size = static_cast<uint16_t>(bytes_.size() - start);
  memcpy(bytes_.data() + start + offsetof(nlattr, nla_len), &size, sizeof size);
}

int TalkNetlink(int protocol, const NetlinkMessages& messages) {
  Fd link(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  return link.valid() ? TalkNetlinkOver(link.get(), messages) : -errno;
}

int TalkNetlinkOver(int link, const NetlinkMessages& messages) {
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const std::string& bytes = messages.bytes();
  if (sendto(link, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&kernel),
             sizeof kernel) < 0)
    return -errno;
  for (uint32_t answered = 0; answered < messages.acknowledged();) {
    alignas(nlmsghdr) char answer[8192];
    const ssize_t got = recv(link, answer, sizeof answer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? -errno : -EPIPE;
    auto left = static_cast<uint32_t>(got);
    for (auto* head = reinterpret_cast<nlmsghdr*>(answer); NLMSG_OK(head, left);
         head = NLMSG_NEXT(head, left)) {
      if (head->nlmsg_type != NLMSG_ERROR) continue;
      nlmsgerr error{};
      memcpy(&error, NLMSG_DATA(head), sizeof error);
      if (error.error != 0) return error.error;
      ++answered;
    }
  }
  return 0;
}

}  // namespace cloche::sys
