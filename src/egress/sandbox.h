#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "egress/control.h"
#include "egress/loop.h"
#include "egress/owners.h"
#include "egress/rule.h"
#include "egress/secret_store.h"
#include "egress/synthetic_names.h"
#include "egress/usage.h"

namespace cloche::egress {

class CanarySet;
class Connection;
class Certificates;

// The state of one sandbox. Its connections hold on to it.
struct Sandbox {
  std::string id, name;
  Loop::Group group = Loop::kOurselves;  // whose turns its work takes
  std::vector<Rule> rules;
  Limits limits;
  SyntheticNames names;
  std::shared_ptr<Certificates> certificates;  // none: requests in TLS cannot be read
  std::shared_ptr<const CanarySet> canaries;   // none: nobody looks at what leaves
  Usage usage;
  SecretStore secrets;   // of this sandbox alone
  bool has_six = false;  // a listener takes IPv6: the resolver may tell such addresses
  bool closed = false;
  int64_t next_expiry = 0;
  std::set<Connection*> live;
  Owners owners;
  std::vector<std::shared_ptr<Socket>> listeners;  // and its resolver's
  std::string last_denied_name;                    // asked for A and AAAA, told once
  int64_t last_denied_at = 0;
  int64_t told_too_many = 0;  // in this second, of however many that were turned away

  struct Known {
    std::vector<IpAddress> addresses;
    int64_t until = 0;
  };
  // Counts the memory that its connections take together: heads and bodies of HTTP/2, bodies that
  // are read as a whole, parts of answers that redactions hold back. False: that would be too much.
  bool Hold(size_t bytes) {
    constexpr size_t kMostHeld = 64 << 20;
    if (bytes > kMostHeld - held) return false;
    held += bytes;
    return true;
  }
  size_t held = 0;

  // Of its own: another sandbox must not find out by the clock what this one has asked for.
  std::map<std::string, Known> resolved;
};

// Bytes that a sandbox has in our memory for as long as this is there.
class Held {
 public:
  explicit Held(Sandbox& sandbox) : sandbox_(sandbox) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { sandbox_.held -= bytes_; }
  bool Add(size_t bytes) {
    if (!sandbox_.Hold(bytes)) return false;
    bytes_ += bytes;
    return true;
  }

 private:
  Sandbox& sandbox_;
  size_t bytes_ = 0;
};
inline constexpr const char* kHoldsTooMuch = "it has 64 MiB in our memory already";

}  // namespace cloche::egress
