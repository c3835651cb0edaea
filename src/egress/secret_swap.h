#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "egress/http_head.h"
#include "egress/rule.h"

namespace cloche::egress {

// A placeholder and what it stands for, on its way to the host that may have it.
struct SecretInUse {
  SecretUse use;
  std::string value;
  bool put_in = false;  // it took the place of its placeholder
};

// Replaces placeholders where their rules say: header values, the password of Basic, the query.
void PutSecretsIn(RequestHead& head, std::vector<SecretInUse>& secrets);
// In texts of a JSON body.
std::string PutSecretsInJson(std::string body, std::vector<SecretInUse>& secrets);
bool HasJsonSecrets(const RequestHead& head, const std::vector<SecretInUse>& secrets);

// A value that comes back is covered with stars: as it is, as a JSON text, percent-encoded, in hex,
// in base64 wherever it begins there (after a user and a colon, say). The number of bytes stays
// what it is, so that nothing else changes.
class Masker {
 public:
  explicit Masker(const std::vector<SecretInUse>& secrets);
  bool empty() const { return needles_.empty(); }
  std::string Feed(std::string_view bytes);  // what is sure; the rest waits for more
  std::string End();
  std::string All(std::string text) const;

 private:
  void Find(std::string_view text, std::string& covered) const;
  void Add(std::string needle);
  std::vector<std::string> needles_;
  std::bitset<1 << 16> beginnings_;  // the first two bytes of each: most of a text is passed by
  size_t longest_ = 0;
  std::string held_;     // as it came
  std::string covered_;  // the same with stars: what overlaps is found in what came
};

std::string EncodeBase64(std::string_view bytes);
bool DecodeBase64(std::string_view text, std::string& bytes);

}  // namespace cloche::egress
