#include "sign/grants.h"

#include <algorithm>

#include "base/text.h"
#include "change/model/base64.h"
#include "change/model/sha256.h"

namespace cloche::sign {
namespace {

constexpr size_t kMostShown = 128;  // of what comes from inside

std::string TextOf(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string FingerprintOf(std::string_view blob) {
  const change::Sha256 hash = change::HashOf(blob);
  std::string text = change::ToBase64({reinterpret_cast<const char*>(hash.data()), hash.size()});
  text.erase(text.find('='));  // 32 bytes always have one
  return "SHA256:" + text;
}

Result<Grant> GrantFromJson(const nlohmann::json& json) {
  Grant grant;
  if (!json.is_object()) return Fail(Code::kInvalid, "read a grant: it is not an object");
  grant.name = TextOf(json, "name");
  grant.fingerprint = TextOf(json, "fingerprint");
  grant.comment = TextOf(json, "comment");
  grant.host = TextOf(json, "host");
  const std::string use = TextOf(json, "use");
  if (use != "any" && use != "git" && use != "ssh")
    return Fail(Code::kInvalid, "read a grant: for what?");
  grant.login = use != "git";
  grant.git = use != "ssh";
  if (grant.name.empty() && grant.fingerprint.empty())
    return Fail(Code::kInvalid, "read a grant: of which key?");
  return grant;
}

nlohmann::json ToJson(const Grant& grant) {
  nlohmann::json json = {{"name", grant.name},
                         {"use", !grant.git     ? "ssh"
                                 : !grant.login ? "git"
                                                : "any"}};
  if (!grant.fingerprint.empty()) json["fingerprint"] = grant.fingerprint;
  if (!grant.comment.empty()) json["comment"] = grant.comment;
  if (!grant.host.empty()) json["host"] = grant.host;
  return json;
}

Status Resolve(std::vector<Grant>& grants, const std::vector<Identity>& identities) {
  for (Grant& grant : grants) {
    if (!grant.fingerprint.empty()) continue;
    const Identity* meant = nullptr;
    for (const Identity& each : identities) {
      if (each.comment != grant.name && FingerprintOf(each.blob) != grant.name) continue;
      if (meant)
        return Fail(Code::kInvalid, "two keys are called " + EscapeForTerminal(grant.name),
                    "name one by its fingerprint: ssh-add -l shows them");
      meant = &each;
    }
    if (!meant)
      return Fail(Code::kNotFound, "the ssh-agent has no key " + EscapeForTerminal(grant.name),
                  "ssh-add -l shows those it has; add one with ssh-add");
    grant.fingerprint = FingerprintOf(meant->blob);
    grant.comment = meant->comment;
  }
  return {};
}

std::vector<Identity> GrantedOf(const std::vector<Identity>& all,
                                const std::vector<Grant>& grants) {
  std::vector<Identity> granted;
  for (const Identity& each : all)
    if (std::ranges::find(grants, FingerprintOf(each.blob), &Grant::fingerprint) != grants.end())
      granted.push_back(each);
  return granted;
}

Verdict Judge(const SignRequest& request, const std::vector<Grant>& grants,
              const BoundSession& bound) {
  Verdict verdict;
  verdict.fingerprint = FingerprintOf(request.key);
  const Purpose purpose = PurposeOf(request.data, request.key);
  verdict.use = "unknown";
  if (purpose.kind == Purpose::Kind::kLogin) {
    verdict.use = "ssh";
    verdict.user = purpose.user.substr(0, kMostShown);
    // A server takes no signature that names another's key; one that names none is good for the
    // session alone, and the agent has checked whose that is.
    if (!purpose.host_key.empty())
      verdict.host = FingerprintOf(purpose.host_key);
    else if (!bound.session.empty() && purpose.session == bound.session)
      verdict.host = FingerprintOf(bound.host_key);
  } else if (purpose.kind == Purpose::Kind::kFile) {
    verdict.use = purpose.name_space == "git" ? "git" : "file";
    verdict.name_space = purpose.name_space.substr(0, kMostShown);
  }
  bool known = false;
  for (const Grant& grant : grants) {
    if (grant.fingerprint.empty() || grant.fingerprint != verdict.fingerprint) continue;
    known = true;
    verdict.comment = grant.comment;
    const bool granted = verdict.use == "git"
                             ? grant.git
                             : verdict.use == "ssh" && grant.login &&
                                   (grant.host.empty() || grant.host == verdict.host);
    if (granted) {
      verdict.refusal.clear();
      return verdict;
    }
    if (verdict.use != "ssh" || !grant.login) continue;
    verdict.refusal = verdict.host.empty() ? "nobody can tell which host this login is for"
                                           : "this key is not granted for logins at this host";
  }
  if (!known)
    verdict.refusal = "this key is not granted";
  else if (verdict.use == "unknown")
    verdict.refusal = "it is neither a login nor a commit";
  else if (verdict.refusal.empty())
    verdict.refusal = verdict.use == "ssh"   ? "this key is not granted for logins"
                      : verdict.use == "git" ? "this key is not granted for commits"
                                             : "only commits and tags of git are signed";
  return verdict;
}

}  // namespace cloche::sign
