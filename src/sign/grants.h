#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sign/agent_message.h"

namespace cloche::sign {

// One key a sandbox may have signatures of, and what for.
struct Grant {
  std::string name;         // as it was asked for: a comment, or a fingerprint
  std::string fingerprint;  // "SHA256:..."; "" until the agent was asked
  std::string comment;
  bool login = true;  // ssh
  bool git = true;    // commits and tags
  std::string host;   // the fingerprint of the one host key logins are for; "": of any
  bool operator==(const Grant&) const = default;
};

std::string FingerprintOf(std::string_view blob);  // as ssh-keygen -l prints it

// {name, fingerprint, comment, use: any|git|ssh, host}
Result<Grant> GrantFromJson(const nlohmann::json& json);
nlohmann::json ToJson(const Grant& grant);

// Names become keys: each must mean exactly one that the agent has.
Status Resolve(std::vector<Grant>& grants, const std::vector<Identity>& identities);
std::vector<Identity> GrantedOf(const std::vector<Identity>& all, const std::vector<Grant>& grants);

// The session that a program inside has bound, as far as the agent has checked it.
struct BoundSession {
  std::string session;
  std::string host_key;
};

// One request for a signature: the words of its record, and why it is refused.
struct Verdict {
  std::string refusal;  // "": it may be signed
  std::string fingerprint, comment;
  std::string use;                     // "ssh", "git", "file" or "unknown"
  std::string user, host, name_space;  // host: a fingerprint; "" where nobody knows
};
Verdict Judge(const SignRequest& request, const std::vector<Grant>& grants,
              const BoundSession& bound);

}  // namespace cloche::sign
