#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::sys {

// Netlink messages, built by hand: the few that a sandbox's network needs.
class NetlinkMessages {
 public:
  // `body` is the fixed part behind the header. Every message but `quiet` ones is acknowledged.
  void Begin(uint16_t type, uint16_t flags, std::string_view body, bool quiet = false);
  void End();
  void Put(uint16_t type, std::string_view value);
  void PutText(uint16_t type, std::string_view text);  // with its NUL
  void PutNumber(uint16_t type, uint32_t value);       // in host order: rtnetlink
  void PutNetNumber(uint16_t type, uint32_t value);    // in network order: nf_tables
  void BeginNest(uint16_t type);
  void EndNest();

  const std::string& bytes() const { return bytes_; }
  uint32_t acknowledged() const { return acknowledged_; }

 private:
  void Pad();
  std::string bytes_;
  size_t message_ = 0;
  std::vector<size_t> nests_;
  uint32_t sequence_ = 0, acknowledged_ = 0;
};

// Sends them all to the kernel, in the network namespace we are in. 0, or the first -errno.
int TalkNetlink(int protocol, const NetlinkMessages& messages);
int TalkNetlinkOver(int link, const NetlinkMessages& messages);

// The second argument of socket(2), as far as netlink knows it.
struct NetlinkType {
  int32_t made = 0;  // with SOCK_NONBLOCK, if it was asked for
  bool close_on_exec = false;
};
std::optional<NetlinkType> ReadNetlinkType(uint64_t argument);

// How many netlink sockets there are in the network namespace of a process, those that nobody has
// bound yet and those on their way between processes among them.
std::optional<long> CountNetlinkSockets(pid_t pid);
std::optional<long> ParseNetlinkSockets(std::string_view protocols);  // /proc/net/protocols

}  // namespace cloche::sys
