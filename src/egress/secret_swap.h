#pragma once

#include <string>
#include <vector>

#include "egress/http_head.h"
#include "egress/rule.h"

namespace cloche::egress {

inline constexpr size_t kMostJson = 1 << 20;  // of a body that secrets are put into

// A placeholder and what it stands for, on its way to the host that may have it.
struct SecretInUse {
  SecretUse use;
  std::string value;
  bool put_in = false;  // it took the place of its placeholder
};

// Replaces placeholders where their rules say: header values, the password of Basic, the query.
// False when that would make it more than twice as long as a head may be.
bool PutSecretsIn(RequestHead& head, std::vector<SecretInUse>& secrets);
// In texts of a JSON body; it may have as much again.
bool PutSecretsInJson(std::string& body, std::vector<SecretInUse>& secrets);
bool HasJsonSecrets(const RequestHead& head, const std::vector<SecretInUse>& secrets);

}  // namespace cloche::egress
