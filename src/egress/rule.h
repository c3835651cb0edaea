#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"

namespace cloche::egress {

enum class Kind : uint8_t { kHttps, kHttp, kTcp, kSsh };
const char* KindName(Kind kind);
std::optional<Kind> KindFromName(std::string_view name);

// The value a rule puts in, and where it may stand.
struct SecretUse {
  std::string name;
  std::string placeholder;
  bool header = false, basic = false, query = false, json = false;
  bool operator==(const SecretUse&) const = default;
};

// One line of what a sandbox may reach. Without host and range it covers nothing.
struct Rule {
  std::string id;
  bool allow = true;
  Kind kind = Kind::kHttps;
  std::string host;              // normal, or "*." and a normal name; empty: addresses only
  std::optional<IpRange> range;  // with a host: where its addresses must lie
  uint16_t first_port = 443, last_port = 443;
  std::vector<std::string> methods;  // empty: all
  std::string path_prefix;           // empty: all
  int64_t expires = 0;               // seconds since 1970; 0: never
  std::optional<SecretUse> secret;

  bool LooksIntoRequests() const {
    return !methods.empty() || !path_prefix.empty() || secret.has_value();
  }
  bool operator==(const Rule&) const = default;
};

// Every field is checked and unknown ones are refused: a rule that is misread grants too much.
Result<Rule> RuleFromJson(const nlohmann::json& object);
Result<std::vector<Rule>> RulesFromJson(const nlohmann::json& array);
nlohmann::ordered_json ToJson(const Rule& rule);

// The final check of RuleFromJson and ParseRule.
Status CheckRule(const Rule& rule);

}  // namespace cloche::egress
