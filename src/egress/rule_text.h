#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "egress/rule.h"

namespace cloche::egress {

// The value of `--allow`:
//   [METHOD[,METHOD...] ][KIND://]HOST[:PORT[-PORT]][/PATH]
// HOST is a name, *.NAME, an address, a range (10.0.0.0/8, [fd00::/8]). Without KIND it is https,
// and tcp for host.cloche. The port of tcp must be said.
Result<Rule> ParseRule(std::string_view text);

// The same form back; ParseRule(FormatRule(rule)) is `rule` but for id, action, expiry and secret.
std::string FormatRule(const Rule& rule);

}  // namespace cloche::egress
