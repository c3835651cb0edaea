#include "egress/secret_swap.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "egress/redactor.h"

namespace cloche::egress {
namespace {

// False when the text would grow by more than `room`: a value may be long, and its placeholder
// stand there often.
bool PutInto(std::string& text, SecretInUse& secret, std::string_view with, size_t& room) {
  const std::string_view what = secret.use.placeholder;
  size_t at = text.find(what), from = 0;
  if (at == text.npos) return true;
  std::string out;
  for (; at != text.npos; at = text.find(what, from)) {
    const size_t grows = with.size() > what.size() ? with.size() - what.size() : 0;
    if (grows > room) {
      Wipe(out);
      return false;
    }
    room -= grows;
    out.append(text, from, at - from).append(with);
    from = at + what.size();
  }
  out.append(text, from);
  Wipe(text);
  text = std::move(out);
  secret.put_in = true;
  return true;
}

bool PutIntoBasic(std::string& value, SecretInUse& secret, size_t& room) {
  constexpr std::string_view kBasic = "Basic ";
  std::string pair;
  if (value.size() < kBasic.size() || !SameText(value.substr(0, kBasic.size()), kBasic) ||
      !DecodeBase64(std::string_view(value).substr(kBasic.size()), pair) ||
      pair.find(secret.use.placeholder) == pair.npos)
    return true;
  if (!PutInto(pair, secret, secret.value, room)) return false;
  value = std::string(kBasic) + EncodeBase64(pair);
  Wipe(pair);
  return true;
}

}  // namespace

bool PutSecretsIn(RequestHead& head, std::vector<SecretInUse>& secrets) {
  size_t room = kMostHttpHead;
  for (SecretInUse& secret : secrets) {
    for (Header& header : head.headers) {
      if (secret.use.header && !SameText(header.name, "Host") &&
          !PutInto(header.value, secret, secret.value, room))
        return false;
      if (secret.use.basic && SameText(header.name, "Authorization") &&
          !PutIntoBasic(header.value, secret, room))
        return false;
    }
    const size_t query = head.path.find('?');
    if (secret.use.query && query != head.path.npos) {
      std::string text = head.path.substr(query);
      if (!PutInto(text, secret, PercentEncoded(secret.value), room)) return false;
      head.path = head.path.substr(0, query) + text;
    }
  }
  return true;
}

bool HasJsonSecrets(const RequestHead& head, const std::vector<SecretInUse>& secrets) {
  const std::string* type = head.Find("Content-Type");
  const bool json = type != nullptr && type->size() >= 16 &&
                    SameText(std::string_view(*type).substr(0, 16), "application/json");
  return json && std::any_of(secrets.begin(), secrets.end(),
                             [](const SecretInUse& each) { return each.use.json; });
}

bool PutSecretsInJson(std::string& body, std::vector<SecretInUse>& secrets) {
  size_t room = kMostJson;
  for (SecretInUse& secret : secrets) {
    if (secret.use.json && !PutInto(body, secret, JsonText(secret.value), room)) return false;
  }
  return true;
}

}  // namespace cloche::egress
