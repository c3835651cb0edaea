#include "policy/canaries.h"

#include <fmt/core.h>

#include <algorithm>

#include "policy/fields.h"

namespace cloche {
namespace {

using nlohmann::json;

constexpr size_t kMostDecoys = 32;
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Where the secret half of an ed25519 key lies in the base64 of its file, and nothing else does.
constexpr size_t kSeedAt = 216, kSeedSize = 40;
constexpr size_t kSshColumns = 70;

class Dice {
 public:
  explicit Dice(std::string_view random) : random_(random) {}
  std::string Bytes(size_t size) {
    std::string taken(random_.substr(0, size));
    random_.remove_prefix(std::min(size, random_.size()));
    taken.resize(size, '\0');
    return taken;
  }
  std::string Of(std::string_view alphabet, size_t size) {
    std::string text = Bytes(size);
    for (char& c : text) c = alphabet[static_cast<unsigned char>(c) % alphabet.size()];
    return text;
  }

 private:
  std::string_view random_;
};

std::string Base64(std::string_view bytes) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kBase64[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kBase64[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

// As the protocol of SSH writes numbers and texts.
std::string Number(size_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}
std::string Text(std::string_view text) { return Number(text.size()) + std::string(text); }

// The file format of OpenSSH (PROTOCOL.key), not encrypted.
std::string SshKey(Dice& dice) {
  const std::string open = dice.Bytes(32), seed = dice.Bytes(32), check = dice.Bytes(4);
  const std::string public_half = Text("ssh-ed25519") + Text(open);
  std::string secret_half = check + check + public_half + Text(seed + open) + Text("deploy@build");
  for (char pad = 1; secret_half.size() % 8 != 0; ++pad) secret_half += pad;
  return Base64(std::string("openssh-key-v1\0", 15) + Text("none") + Text("none") + Text("") +
                Number(1) + Text(public_half) + Text(secret_half));
}

std::string SshFile(std::string_view body) {
  std::string text = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  for (; !body.empty(); body.remove_prefix(std::min(body.size(), kSshColumns)))
    text += std::string(body.substr(0, kSshColumns)) + "\n";
  return text + "-----END OPENSSH PRIVATE KEY-----\n";
}

Status ReadDecoy(const json& object, Decoy& out) {
  FieldReader reader(object, "canaries");
  reader.Text("kind", out.kind, 64);
  reader.Text("value", out.value, 1024);
  if (MarkOf(out).size() < 20)
    reader.Refuse("value", "it is too short to be told from others", "give canaries: true");
  return reader.Finish();
}

}  // namespace

void ReadCanaries(FieldReader& reader, CanaryRequest& out) {
  const json* given = reader.Find("canaries");
  if (!given) return;
  if (given->is_boolean()) {
    out.wanted = given->get<bool>();
    return;
  }
  if (!given->is_array() || given->empty() || given->size() > kMostDecoys)
    return reader.Refuse("canaries", "it is neither true nor false", "give true, or leave it out");
  out.wanted = true;
  for (const json& each : *given) {
    Decoy decoy;
    reader.Take(ReadDecoy(each, decoy));
    out.decoys.push_back(std::move(decoy));
  }
}

json CanariesToJson(const CanaryRequest& canaries) {
  json list = json::array();
  for (const Decoy& each : canaries.decoys)
    list.push_back({{"kind", each.kind}, {"value", each.value}});
  return list;
}

std::vector<Decoy> MakeDecoys(std::string_view random) {
  Dice dice(random);
  std::vector<Decoy> decoys;
  decoys.push_back({"aws-access-key", "AKIA" + dice.Of(kUpper, 16)});
  decoys.push_back({"aws-secret-key", dice.Of(kLetters, 40)});
  decoys.push_back({"ssh-key", SshKey(dice)});
  decoys.push_back({"github-token", "ghp_" + dice.Of(kLetters, 36)});
  decoys.push_back({"github-cli-token", "gho_" + dice.Of(kLetters, 36)});
  decoys.push_back({"npm-token", "npm_" + dice.Of(kLetters, 36)});
  decoys.push_back({"api-key", "sk-" + dice.Of(kLetters, 45)});
  return decoys;
}

std::string MarkOf(const Decoy& decoy) {
  if (decoy.kind != "ssh-key") return decoy.value;
  return decoy.value.size() < kSeedAt ? "" : decoy.value.substr(kSeedAt, kSeedSize);
}

// They name hosts and profiles that nothing uses by itself: a package manager or a cloud's own
// program that finds them works as it would without them.
std::vector<DecoyFile> DecoyFiles(const std::vector<Decoy>& decoys) {
  const auto value = [&](std::string_view kind) -> std::string {
    const auto found = std::ranges::find(decoys, kind, &Decoy::kind);
    return found == decoys.end() ? "" : found->value;
  };
  std::vector<DecoyFile> files = {
      {".aws/credentials",
       false,
       fmt::format("[production]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
                   value("aws-access-key"), value("aws-secret-key")),
       {"aws-access-key", "aws-secret-key"}},
      {".ssh/id_ed25519", false, SshFile(value("ssh-key")), {"ssh-key"}},
      {".git-credentials",
       false,
       fmt::format("https://deploy:{}@git.internal\n", value("github-token")),
       {"github-token"}},
      {".config/gh/hosts.yml",
       false,
       fmt::format("github.internal:\n    users:\n        deploy:\n            oauth_token: {0}\n"
                   "    git_protocol: https\n    user: deploy\n    oauth_token: {0}\n",
                   value("github-cli-token")),
       {"github-cli-token"}},
      {".npmrc",
       false,
       fmt::format("@internal:registry=https://npm.internal/\n//npm.internal/:_authToken={}\n",
                   value("npm-token")),
       {"npm-token"}},
      {".env",
       true,
       fmt::format("# deployment\nDEPLOY_ENDPOINT=https://deploy.internal\nDEPLOY_API_KEY={}\n",
                   value("api-key")),
       {"api-key"}}};
  // Records of older versions lack some values; decoys that need those are left out.
  std::erase_if(files, [&](const DecoyFile& file) {
    return std::ranges::any_of(file.kinds, [&](const auto& kind) { return value(kind).empty(); });
  });
  return files;
}

nlohmann::ordered_json DecoysToJson(const std::vector<DecoyPlace>& places) {
  auto list = nlohmann::ordered_json::array();
  for (const DecoyPlace& each : places) {
    list.push_back({{"path", each.path}, {"kinds", each.kinds}});
    if (each.instead) list.back()["if_there_is_one"] = true;
  }
  return list;
}

}  // namespace cloche
