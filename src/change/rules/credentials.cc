#include "change/rules/credentials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/ascii.h"
#include "change/rules/glob.h"
#include "change/rules/line_sets.h"
#include "policy/environment.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

enum class Letters { kAny, kPlain, kCapitals };  // with _ - ., without, capitals and digits only

struct Shape {
  std::string_view prefix;
  std::string_view kind;
  size_t rest;  // at least this many characters follow
  Letters letters = Letters::kAny;
};

constexpr std::array kShapes = {
    Shape{"AKIA", "AWS access key", 16, Letters::kCapitals},
    Shape{"ASIA", "AWS access key", 16, Letters::kCapitals},
    Shape{"ABIA", "AWS access key", 16, Letters::kCapitals},
    Shape{"AIza", "Google API key", 35},
    Shape{"GOCSPX-", "Google client secret", 20},
    Shape{"ya29.", "Google access token", 30},
    Shape{"ghp_", "GitHub token", 36, Letters::kPlain},
    Shape{"gho_", "GitHub token", 36, Letters::kPlain},
    Shape{"ghu_", "GitHub token", 36, Letters::kPlain},
    Shape{"ghs_", "GitHub token", 36, Letters::kPlain},
    Shape{"ghr_", "GitHub token", 36, Letters::kPlain},
    Shape{"github_pat_", "GitHub token", 40},
    Shape{"glpat-", "GitLab token", 20},
    Shape{"gldt-", "GitLab token", 20},
    Shape{"glrt-", "GitLab token", 20},
    Shape{"xoxb-", "Slack token", 20},
    Shape{"xoxp-", "Slack token", 20},
    Shape{"xoxa-", "Slack token", 20},
    Shape{"xoxe-", "Slack token", 20},
    Shape{"xoxs-", "Slack token", 20},
    Shape{"xapp-", "Slack token", 20},
    Shape{"sk_live_", "Stripe key", 20, Letters::kPlain},
    Shape{"sk_test_", "Stripe key", 20, Letters::kPlain},
    Shape{"rk_live_", "Stripe key", 20, Letters::kPlain},
    Shape{"whsec_", "Stripe secret", 24, Letters::kPlain},
    Shape{"sk-ant-", "Anthropic key", 40},
    Shape{"sk-proj-", "OpenAI key", 40},
    Shape{"sk-svcacct-", "OpenAI key", 40},
    Shape{"sk-or-v1-", "OpenRouter key", 40},
    Shape{"sk-", "OpenAI key", 32, Letters::kPlain},
    Shape{"npm_", "npm token", 36, Letters::kPlain},
    Shape{"pypi-AgE", "PyPI token", 50},
    Shape{"hf_", "Hugging Face token", 30, Letters::kPlain},
    Shape{"dop_v1_", "DigitalOcean token", 60, Letters::kPlain},
    Shape{"dckr_pat_", "Docker token", 20},
    Shape{"shpat_", "Shopify token", 30, Letters::kPlain},
    Shape{"hvs.", "Vault token", 20},
    Shape{"SG.", "SendGrid key", 60},
    Shape{"AGE-SECRET-KEY-1", "age key", 50, Letters::kCapitals},
    Shape{"lin_api_", "Linear key", 36, Letters::kPlain},
    Shape{"figd_", "Figma token", 36},
    Shape{"tskey-", "Tailscale key", 24},
};

bool IsAlphanumeric(char c) { return IsDigit(c) || IsLower(c) || IsUpper(c); }
// Consulted for every added byte.
constexpr std::array<bool, 256> kTokenCharacters = [] {
  std::array<bool, 256> table{};
  for (const char c : "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."sv)
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();
bool IsTokenCharacter(char c) { return kTokenCharacters[static_cast<unsigned char>(c)]; }
bool IsValueCharacter(char c) { return IsTokenCharacter(c) || c == '+' || c == '/' || c == '='; }

bool IsOf(Letters letters, std::string_view text) {
  return std::ranges::all_of(text, [&](char c) {
    if (letters == Letters::kCapitals) return IsUpper(c) || IsDigit(c);
    return letters == Letters::kPlain ? IsAlphanumeric(c) : IsTokenCharacter(c);
  });
}

// Bits per character: about 3 for words, above 3.5 for random text.
double Entropy(std::string_view text) {
  std::array<size_t, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  const auto size = static_cast<double>(text.size());
  for (const size_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / size;
    bits -= share * std::log2(share);
  }
  return bits;
}

bool IsPlaceholder(std::string_view value) {
  const std::string lower = Lowered(value);
  if (AnyWord("example sample dummy fake placeholder changeme change-me change_me your redacted "
              "secret-here xxxx **** .... 0000000 1234567 abcdef abcdabcd insert todo replace "
              "not-a-real notreal test-only test_only password foobar",
              [&](auto word) { return lower.find(word) != lower.npos; }))
    return true;
  return Entropy(value) < 2.5;
}

std::string Masked(std::string_view value) {
  return std::string(value.substr(0, std::min<size_t>(4, value.size() / 4))) + "........";
}

std::string_view TokenKind(std::string_view token) {
  for (const Shape& shape : kShapes) {
    if (!token.starts_with(shape.prefix)) continue;
    const std::string_view rest = token.substr(shape.prefix.size());
    if (rest.size() < shape.rest || !IsOf(shape.letters, rest) || IsPlaceholder(rest)) continue;
    if (!std::ranges::any_of(rest, IsDigit) || Entropy(rest) < 3) continue;
    return shape.kind;
  }
  // A JSON web token: header and claims are base64 of '{"'. Skips the well-known example of John
  // Doe.
  const size_t dot = token.find(".eyJ");
  if (token.starts_with("eyJ") && dot != token.npos && token.find('.', dot + 1) != token.npos &&
      token.size() > 60 && token.find("IxMjM0NTY3ODkwI") == token.npos)
    return "JSON web token";
  return {};
}

// user:password@host in a URL. Passwords for a developer's own machine are not secrets.
std::optional<std::string_view> UrlPassword(std::string_view line) {
  for (size_t at = line.find("://"); at != line.npos; at = line.find("://", at + 3)) {
    const std::string_view rest = line.substr(at + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?# \t\"'`<>,;)"));
    const size_t end = authority.rfind('@');
    if (end == authority.npos) continue;
    const size_t colon = authority.substr(0, end).find(':');
    if (colon == authority.npos || colon == 0) continue;
    const std::string_view user = authority.substr(0, colon);
    const std::string_view password = authority.substr(colon + 1, end - colon - 1);
    std::string_view host = authority.substr(end + 1);
    host = host.substr(0, host.find(':'));
    const bool local = host.find('.') == host.npos || host.starts_with("127.") ||
                       host.find("example") != host.npos || host.ends_with(".local") ||
                       host.ends_with(".test") || host.ends_with(".invalid");
    if (password.size() < 6 || local || password == user || IsPlaceholder(password) ||
        password.find_first_of("${}<>*%[") != password.npos ||
        AnyWord("secret postgres passwd pass root admin",
                [&](auto word) { return Lowered(password) == word; }))
      continue;
    return password;
  }
  return std::nullopt;
}

// apiKey, api-key -> api_key
std::string WithUnderscores(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && IsUpper(name[i]) && IsLower(name[i - 1])) out.push_back('_');
    out.push_back(name[i] == '-' || name[i] == '.' ? '_' : name[i]);
  }
  return out;
}

bool IsSecretName(std::string_view name) {
  const std::string words = WithUnderscores(name);
  if (!NameLooksSecret(words)) return false;
  const std::string lower = Lowered(words);
  return !AnyWord(
      "public cache sort primary foreign partition translation i18n _id name path file "
      "hash fingerprint checksum integrity object bucket key_id keyid idempotency index "
      "shortcut binding next_token page csrf pattern regex type url uri endpoint",
      [&](auto word) { return lower.find(word) != lower.npos; });
}

bool ValueIsDrawn(std::string_view value, bool quoted) {
  if (value.size() < 16 || value.size() > 512) return false;
  if (!std::ranges::all_of(value, IsValueCharacter) || IsPlaceholder(value)) return false;
  const bool digit = std::ranges::any_of(value, IsDigit);
  const bool lower = std::ranges::any_of(value, IsLower);
  const bool upper = std::ranges::any_of(value, IsUpper);
  if (!digit || (!lower && !upper)) return false;
  if (value.find('/') != value.npos && !(lower && upper && value.front() != '/')) return false;
  // Common beginnings of public keys.
  for (const std::string_view begin : {"MFkwEwYH"sv, "MIIBIjAN"sv, "MIGfMA0G"sv, "MCowBQYD"sv})
    if (value.starts_with(begin)) return false;
  // A UUID is a name.
  if (value.size() == 36 && std::ranges::count(value, '-') == 4) return false;
  // Words with separators are a name, however long.
  const auto separators = std::ranges::count_if(
      value, [](char c) { return c == '-' || c == '_' || c == '.' || c == '/'; });
  if (static_cast<size_t>(separators) * 8 > value.size()) return false;
  return Entropy(value) >= (quoted ? 3.3 : 3.6);
}

bool IsSettings(std::string_view path) {
  const std::string name = Lowered(path.substr(path.rfind('/') + 1));
  return name.starts_with(".env") || AnyWord(
                                         ".env .ini .cfg .conf .properties .yml .yaml .toml .sh "
                                         ".bash .zsh .tfvars .npmrc .pypirc .netrc credentials "
                                         "dockerfile .envrc",
                                         [&](auto end) { return name.ends_with(end); });
}

// `name = "value"`, `"name": "value"`, and without quotes in settings files.
std::optional<std::string_view> AssignedSecret(std::string_view line, bool settings) {
  for (size_t at = line.find_first_of("=:"); at != line.npos;
       at = line.find_first_of("=:", at + 1)) {
    // Bounded in both directions: a line may hold a million of these characters.
    const size_t earliest = at - std::min<size_t>(at, 120);
    size_t name_end = at;
    while (name_end > earliest && (line[name_end - 1] == ' ' || line[name_end - 1] == '"' ||
                                   line[name_end - 1] == '\'' || line[name_end - 1] == ':'))
      --name_end;
    size_t name_begin = name_end;
    while (name_begin > earliest && IsTokenCharacter(line[name_begin - 1])) --name_begin;
    const std::string_view name = line.substr(name_begin, name_end - name_begin);
    if (name.size() < 3 || name.size() > 100) continue;
    std::string_view rest = line.substr(at + 1, 600);
    while (rest.starts_with('=') || rest.starts_with('>') || rest.starts_with(':'))
      rest.remove_prefix(1);
    rest = TrimLine(rest);
    const bool quoted = rest.starts_with('"') || rest.starts_with('\'') || rest.starts_with('`');
    if (!quoted && !settings) continue;
    const std::string_view value = quoted ? rest.substr(1, rest.find(rest.front(), 1) - 1)
                                          : rest.substr(0, rest.find_first_of(" \t#;,"));
    if (ValueIsDrawn(value, quoted) && IsSecretName(name)) return value;
  }
  return std::nullopt;
}

// A key header counts only if a key follows: programs that read keys mention the header.
bool KeyFollows(std::string_view text) {
  text = text.substr(0, 400);
  size_t run = 0;
  for (const char c : text) {
    run = IsAlphanumeric(c) || c == '+' || c == '/' || c == '=' ? run + 1 : 0;
    if (run >= 40) return true;
  }
  return false;
}

class Scanner {
 public:
  Scanner(std::string_view path, std::string_view text)
      : text_(text), settings_(IsSettings(path)) {}

  void Line(size_t number, std::string_view line) {
    number_ = number;
    if (PrivateKey(line) || Tokens(line)) return;
    if (const auto password = UrlPassword(line)) return Found("password in a URL", *password);
    if (const auto secret = AssignedSecret(line, settings_)) Found("secret value", *secret);
  }
  bool Full() const { return found_.size() >= kMaxCredentials; }
  std::vector<Credential> Take() { return std::move(found_); }

 private:
  void Found(std::string_view kind, std::string_view value) {
    if (!Full()) found_.push_back({number_, kind, Masked(value)});
  }

  bool PrivateKey(std::string_view line) {
    const size_t begin = line.find("-----BEGIN ");
    const size_t at = begin == line.npos ? begin : line.find("PRIVATE KEY", begin);
    if (at == line.npos && !line.starts_with("PuTTY-User-Key-File-")) return false;
    const char* const from = line.data() + (at == line.npos ? 0 : at);
    if (!KeyFollows(text_.substr(static_cast<size_t>(from - text_.data())))) return false;
    const bool google = text_.find("\"service_account\"") != text_.npos;
    Found(google ? "Google service-account key" : "private key", "----------------");
    return true;
  }

  bool Tokens(std::string_view line) {
    bool any = false;
    for (size_t begin = 0; begin < line.size();) {
      if (!IsTokenCharacter(line[begin])) {
        ++begin;
        continue;
      }
      size_t end = begin;
      while (end < line.size() && IsTokenCharacter(line[end])) ++end;
      std::string_view token = line.substr(begin, end - begin);
      while (token.ends_with('.')) token.remove_suffix(1);
      begin = end;
      if (token.size() < 20) continue;
      if (const std::string_view kind = TokenKind(token); !kind.empty()) {
        Found(kind, token);
        any = true;
      }
    }
    return any;
  }

  std::string_view text_;
  bool settings_;
  size_t number_ = 0;
  std::vector<Credential> found_;
};

}  // namespace

std::vector<Credential> FindCredentials(std::string_view path,
                                        std::optional<std::string_view> before,
                                        std::string_view after) {
  // UTF-16: credentials are always ASCII.
  std::string narrow;
  std::string narrow_before;
  if (after.starts_with("\xff\xfe") || after.starts_with("\xfe\xff")) {
    std::ranges::remove_copy(after, std::back_inserter(narrow), '\0');
    std::ranges::remove_copy(before.value_or(""), std::back_inserter(narrow_before), '\0');
    after = narrow;
    before = narrow_before;
  }
  if (after.substr(0, 8000).find('\0') != after.npos) return {};
  std::vector<std::string_view> known = Lines(before.value_or(""));
  std::ranges::sort(known);
  Scanner scanner(path, after);
  size_t number = 0;
  ForEachLine(after, [&](std::string_view line) {
    ++number;
    if (line.size() >= 8 && !scanner.Full() && !std::ranges::binary_search(known, line))
      scanner.Line(number, line);
  });
  return scanner.Take();
}

}  // namespace cloche::rules
