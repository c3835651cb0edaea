#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"
#include "egress/control.h"
#include "egress/dns_message.h"
#include "egress/loop.h"
#include "egress/sandbox.h"
#include "egress/task.h"

namespace cloche::egress {

// Asks the machine's name servers, for names that were granted and no others.
class Resolver {
 public:
  explicit Resolver(Loop& loop) : loop_(loop) {}
  void Configure(ResolverMessage message) { settings_ = std::move(message); }

  // IPv4 first. `name` is normal.
  Task<Result<std::vector<IpAddress>>> Resolve(Sandbox& sandbox, const std::string& name);

 private:
  using Server = std::pair<IpAddress, uint16_t>;
  struct Lookup {
    std::string question[2];
    DnsAnswer answer[2];
    bool done[2] = {false, false};
  };
  Task<bool> AskOverUdp(const Server& server, Lookup& lookup);
  Task<bool> AskOverTcp(const Server& server, Lookup& lookup, int which);

  Loop& loop_;
  ResolverMessage settings_;
};

uint32_t RandomNumber();

}  // namespace cloche::egress
