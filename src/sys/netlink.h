#pragma once

#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

namespace cloche::sys {

// Netlink messages, built by hand: the few that a sandbox's network needs.
class NetlinkMessages {
 public:
  // `body` is the fixed part after the header. Every message is acknowledged unless `quiet`.
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

// Sends them all to the kernel, in the current network namespace. 0, or the first -errno.
int TalkNetlink(int protocol, const NetlinkMessages& messages);
int TalkNetlinkOver(int link, const NetlinkMessages& messages);

}  // namespace cloche::sys
