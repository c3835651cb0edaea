#include "policy/sign_request.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "policy/fields.h"

namespace cloche {
namespace {

using nlohmann::json;

constexpr size_t kMostKeys = 16;
constexpr size_t kMostName = 256;
constexpr size_t kMostAgent = 107;  // as long as the path of a socket may be
constexpr std::string_view kHash = "SHA256:";

bool IsFingerprint(std::string_view text) {
  return text.size() == kHash.size() + 43 && text.starts_with(kHash) &&
         std::ranges::all_of(text.substr(kHash.size()), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '+' || c == '/';
         });
}

Status ReadKey(const json& object, SigningKey& out) {
  FieldReader reader(object, "keys");
  reader.Text("name", out.name, kMostName);
  reader.Text("use", out.use, 8);
  reader.Text("host", out.host, kMostName);
  reader.Text("fingerprint", out.fingerprint, kMostName);
  reader.Text("comment", out.comment, 1024);
  if (out.name.empty()) reader.Refuse("name", "it names no key", "give a comment or a fingerprint");
  if (out.use != "any" && out.use != "git" && out.use != "ssh")
    reader.Refuse("use", "it is none of any, git, ssh", "give one of them");
  if (!out.host.empty() && (out.use != "ssh" || !IsFingerprint(out.host)))
    reader.Refuse("host", "it is not a fingerprint of a host key, or not for ssh",
                  "give use ssh and SHA256:...; ssh-keygen -lf shows it");
  if (!out.fingerprint.empty() && !IsFingerprint(out.fingerprint))
    reader.Refuse("fingerprint", "it is none", "leave it out");
  return reader.Finish();
}

void ReadKeys(FieldReader& reader, const char* key, std::vector<SigningKey>& out) {
  const json* list = reader.Find(key);
  if (!list) return;
  if (!list->is_array() || list->size() > kMostKeys)
    return reader.Refuse(key, "it is not a list of keys",
                         fmt::format("give at most {} of {{name, use}}", kMostKeys));
  for (const json& each : *list) {
    SigningKey made;
    reader.Take(ReadKey(each, made));
    out.push_back(std::move(made));
  }
}

}  // namespace

void ReadSigning(FieldReader& reader, SigningRequest& out) {
  const json* object = reader.Object("sign");
  if (!object) return;
  FieldReader inner(*object, "sign");
  inner.Path("agent", out.agent);
  if (out.agent.size() > kMostAgent) inner.Refuse("agent", "it is too long", "use a shorter path");
  ReadKeys(inner, "keys", out.keys);
  if (!out.keys.empty() && out.agent.empty())
    inner.Refuse("agent", "whose keys are they?", "give the path of SSH_AUTH_SOCK");
  std::optional<uint64_t> per_minute;
  inner.Integer("per_minute", per_minute, {.least = 1, .most = 10000});
  if (per_minute) out.per_minute = *per_minute;
  reader.Take(inner.Finish());
}

json SigningKeyToJson(const SigningKey& key) {
  json out = {{"name", key.name}, {"use", key.use}};
  if (!key.host.empty()) out["host"] = key.host;
  if (!key.fingerprint.empty()) out["fingerprint"] = key.fingerprint;
  if (!key.comment.empty()) out["comment"] = key.comment;
  return out;
}

json SigningToJson(const SigningRequest& signing) {
  json keys = json::array();
  for (const SigningKey& each : signing.keys) keys.push_back(SigningKeyToJson(each));
  json out = {{"keys", std::move(keys)}, {"per_minute", signing.per_minute}};
  if (!signing.agent.empty()) out["agent"] = signing.agent;
  return out;
}

Result<SigningKey> ParseSigningKey(const json& body) {
  SigningKey key;
  CLOCHE_TRY(ReadKey(body, key));
  return key;
}

Result<SigningChange> ParseSigningChange(const json& body) {
  SigningChange change;
  FieldReader reader(body, "");
  reader.Path("agent", change.agent);
  if (change.agent.size() > kMostAgent)
    reader.Refuse("agent", "it is too long", "use a shorter path");
  ReadKeys(reader, "add", change.add);
  for (const SigningKey& each : change.add)
    if (!each.fingerprint.empty())
      reader.Refuse("add", "a new key has a fingerprint", "give it as its name");
  reader.Texts("remove", change.remove, kMostKeys, kMostName);
  if (change.add.empty() && change.remove.empty())
    reader.Refuse("add", "nothing to change", "give keys to add, or to remove");
  // A grant that fails must not keep alive what was to be revoked.
  if (!change.add.empty() && !change.remove.empty())
    reader.Refuse("remove", "one thing at a time", "remove first, then add");
  CLOCHE_TRY(reader.Finish());
  return change;
}

Result<SigningKey> ParseSigningKeyText(std::string_view text) {
  SigningKey key;
  std::string_view name = text;
  if (const size_t host = name.find(":ssh="); host != std::string_view::npos) {
    key.use = "ssh";
    key.host = name.substr(host + 5);
    name = name.substr(0, host);
    if (!IsFingerprint(key.host))
      return Fail(Code::kInvalid,
                  fmt::format("grant {}: no fingerprint of a host key", EscapeForTerminal(text)),
                  "write NAME:ssh=SHA256:...; ssh-keyscan HOST | ssh-keygen -lf - shows it");
  }
  for (const char* use : {"git", "ssh"})
    if (name.ends_with(fmt::format(":{}", use)) && key.host.empty()) {
      key.use = use;
      name.remove_suffix(4);
    }
  key.name = name;
  if (name.empty() || name.size() > kMostName)
    return Fail(Code::kInvalid, "grant a key: it has no name",
                "give its comment or its fingerprint; ssh-add -l shows them");
  return key;
}

}  // namespace cloche
