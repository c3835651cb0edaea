#pragma once

#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "base/result.h"
#include "egress/rule.h"

namespace cloche::daemon {

// Hosts and ranges that no flag can grant, one per line, in /etc/cloche/production-hosts and,
// rootless, in the user's own file. If a file cannot be parsed, every grant is refused.
class ProductionHosts {
 public:
  static Result<ProductionHosts> Read(Mode mode);
  static Result<ProductionHosts> Parse(const std::string& text, const std::string& path);

  // Refuses a rule that covers one of them.
  Status Check(const egress::Rule& rule) const;
  // These keep them closed to wider rules: deny overrides allow.
  const std::vector<egress::Rule>& denials() const { return denials_; }

 private:
  struct Host {
    std::string pattern, path;
  };
  std::vector<Host> hosts_;
  std::vector<egress::Rule> denials_;
};

}  // namespace cloche::daemon
