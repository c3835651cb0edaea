#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "egress/control.h"
#include "egress/loop.h"
#include "egress/rule.h"
#include "egress/synthetic_names.h"
#include "egress/usage.h"

namespace cloche::egress {

class CanarySet;
class Connection;
class Certificates;

// What is known of one sandbox. Its connections hold on to it.
struct Sandbox {
  std::string id, name;
  std::vector<Rule> rules;
  Limits limits;
  SyntheticNames names;
  std::shared_ptr<Certificates> certificates;  // none: requests in TLS cannot be read
  std::shared_ptr<const CanarySet> canaries;   // none: nobody looks at what leaves
  Usage usage;
  std::map<std::string, std::string> secrets;  // values by name, of this sandbox alone
  std::vector<std::string> rotated_secrets;    // the last ones that were replaced: still masked
  size_t waiting = 0;                          // bytes of HTTP/2 bodies, in our memory
  bool has_six = false;  // a listener takes IPv6: the resolver may tell such addresses
  bool closed = false;
  int64_t next_expiry = 0;
  std::set<Connection*> live;
  std::vector<std::shared_ptr<Socket>> listeners;  // and its resolver's
  std::string last_denied_name;                    // asked for A and AAAA, told once
  int64_t last_denied_at = 0;
  int64_t told_too_many = 0;  // in this second, of however many that were turned away

  struct Known {
    std::vector<IpAddress> addresses;
    int64_t until = 0;
  };
  // Of its own: another sandbox must not find out by the clock what this one has asked for.
  std::map<std::string, Known> resolved;
};

}  // namespace cloche::egress
