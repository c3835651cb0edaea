#pragma once

#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "base/result.h"
#include "egress/rule.h"

namespace cloche::daemon {

// Hosts and ranges that no flag grants, a line each, in /etc/cloche/production-hosts and, rootless,
// in the user's own. A file that cannot be understood refuses every grant.
class ProductionHosts {
 public:
  static Result<ProductionHosts> Read(Mode mode);
  static Result<ProductionHosts> Parse(const std::string& text, const std::string& path);

  // Refused, if it is about one of them.
  Status Check(const egress::Rule& rule) const;
  // What keeps them closed to rules that are wider: deny goes over allow.
  const std::vector<egress::Rule>& denials() const { return denials_; }

 private:
  struct Host {
    std::string pattern, path;
  };
  std::vector<Host> hosts_;
  std::vector<egress::Rule> denials_;
};

}  // namespace cloche::daemon
