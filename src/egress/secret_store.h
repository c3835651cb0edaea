#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "egress/decide.h"
#include "egress/redactor.h"
#include "egress/rule.h"

namespace cloche::egress {

// The values of one sandbox: those that its rules put into requests, and all that must not come
// back. A value sent to a host once is redacted there for as long as the sandbox is open: rules
// end, and values are replaced, but the host still knows what it was sent.
class SecretStore {
 public:
  SecretStore() = default;
  SecretStore(SecretStore&& other) noexcept { Swap(other); }
  SecretStore& operator=(SecretStore&& other) noexcept {
    SecretStore old;
    old.Swap(*this);  // what was here is wiped
    Swap(other);
    return *this;
  }
  ~SecretStore();

  const std::string* Find(const std::string& name) const;
  // An empty value forgets it. True when the value changed.
  bool Set(const std::string& name, const std::string& value);
  // It must not come back. Beyond what a sandbox may have, values that the daemon has not named for
  // the longest time are forgotten.
  void Remember(const std::string& value);
  void Mark(const Rule& rule);  // nor anything from where this rule leads
  bool RedactsAt(const Target& target) const;
  std::shared_ptr<const Needles> ToRedact();  // for everything there is

 private:
  void Swap(SecretStore& other) noexcept;

  std::map<std::string, std::string> values_;
  std::vector<std::string> past_;
  size_t past_bytes_ = 0;
  std::vector<Rule> marked_;
  std::shared_ptr<const Needles> to_redact_;  // when it was asked for since something changed
};

}  // namespace cloche::egress
