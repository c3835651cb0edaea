#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace cloche {

// A key of the caller's ssh-agent that a sandbox may have signatures of; docs/signing.md.
struct SigningKey {
  std::string name;         // its comment or its fingerprint, as a person wrote it
  std::string use = "any";  // any, git, ssh
  std::string host;         // with ssh: the fingerprint of the one host key logins are for
  std::string fingerprint;  // once the agent was asked: what counts from then on
  std::string comment;      // likewise
  bool operator==(const SigningKey&) const = default;
};

// The key "sign" of a request, and what has become of it since.
struct SigningRequest {
  std::string agent;  // the socket of the caller's ssh-agent
  std::vector<SigningKey> keys;
  uint64_t per_minute = 10;  // signatures
  bool operator==(const SigningRequest&) const = default;
};

class FieldReader;
void ReadSigning(FieldReader& reader, SigningRequest& out);
nlohmann::json SigningToJson(const SigningRequest& signing);
nlohmann::json SigningKeyToJson(const SigningKey& key);

// A change while it lives: POST /v1/sandboxes/REF/sign.
struct SigningChange {
  std::string agent;  // "": the one it has
  std::vector<SigningKey> add;
  std::vector<std::string> remove;  // names, comments or fingerprints
};
Result<SigningChange> ParseSigningChange(const nlohmann::json& body);
// A key as cloche-sign describes it.
Result<SigningKey> ParseSigningKey(const nlohmann::json& body);

// NAME, NAME:git, NAME:ssh or NAME:ssh=SHA256:...
Result<SigningKey> ParseSigningKeyText(std::string_view text);

}  // namespace cloche
