#include "policy/network_presets.h"

#include <algorithm>

#include "base/ip_address.h"

namespace cloche {
namespace {

constexpr std::string_view kNpm[] = {"registry.npmjs.org", "registry.yarnpkg.com",
                                     "repo.yarnpkg.com"};
constexpr std::string_view kNode[] = {"nodejs.org"};
constexpr std::string_view kPypi[] = {"pypi.org", "files.pythonhosted.org"};
constexpr std::string_view kConda[] = {"conda.anaconda.org", "repo.anaconda.com"};
constexpr std::string_view kCrates[] = {"crates.io", "index.crates.io", "static.crates.io"};
constexpr std::string_view kRustup[] = {"static.rust-lang.org"};
constexpr std::string_view kGo[] = {"proxy.golang.org", "sum.golang.org"};
constexpr std::string_view kRubygems[] = {"rubygems.org", "index.rubygems.org"};
constexpr std::string_view kMaven[] = {"repo.maven.apache.org", "repo1.maven.org"};
constexpr std::string_view kGradle[] = {"services.gradle.org", "downloads.gradle.org",
                                        "plugins.gradle.org", "plugins-artifacts.gradle.org"};
constexpr std::string_view kNuget[] = {"api.nuget.org", "www.nuget.org"};
constexpr std::string_view kPackagist[] = {"packagist.org", "repo.packagist.org"};
constexpr std::string_view kHex[] = {"hex.pm", "repo.hex.pm", "builds.hex.pm"};
constexpr std::string_view kDebian[] = {"http://deb.debian.org", "deb.debian.org",
                                        "http://security.debian.org", "security.debian.org"};
constexpr std::string_view kUbuntu[] = {"http://archive.ubuntu.com", "http://*.archive.ubuntu.com",
                                        "http://security.ubuntu.com", "http://ports.ubuntu.com"};
constexpr std::string_view kAlpine[] = {"dl-cdn.alpinelinux.org", "http://dl-cdn.alpinelinux.org"};
constexpr std::string_view kGithub[] = {"github.com", "api.github.com", "codeload.github.com",
                                        "*.githubusercontent.com", "ssh://github.com"};
constexpr std::string_view kGitlab[] = {"gitlab.com", "ssh://gitlab.com"};
constexpr std::string_view kDocker[] = {
    "registry-1.docker.io", "auth.docker.io", "index.docker.io", "production.cloudflare.docker.com",
    "docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com"};
constexpr std::string_view kGhcr[] = {"ghcr.io", "pkg-containers.githubusercontent.com"};
constexpr std::string_view kHuggingface[] = {"huggingface.co", "*.huggingface.co", "*.hf.co"};
constexpr std::string_view kAnthropic[] = {"api.anthropic.com"};
constexpr std::string_view kOpenai[] = {"api.openai.com"};

constexpr NetworkPreset kPresets[] = {
    {"npm", "npm, pnpm, yarn", kNpm},
    {"node", "Node.js itself, headers for native modules", kNode},
    {"pypi", "pip, uv, poetry", kPypi},
    {"conda", "conda, mamba", kConda},
    {"crates", "cargo", kCrates},
    {"rustup", "Rust toolchains", kRustup},
    {"go", "Go modules", kGo},
    {"rubygems", "gem, bundler", kRubygems},
    {"maven", "Maven Central", kMaven},
    {"gradle", "Gradle itself and its plugins", kGradle},
    {"nuget", "dotnet", kNuget},
    {"packagist", "composer; archives come from @github", kPackagist},
    {"hex", "mix, rebar3", kHex},
    {"debian", "apt on Debian", kDebian},
    {"ubuntu", "apt on Ubuntu", kUbuntu},
    {"alpine", "apk", kAlpine},
    {"github", "git and releases; whoever has a token can also write there", kGithub},
    {"gitlab", "git; whoever has a token can also write there", kGitlab},
    {"docker", "images of Docker Hub", kDocker},
    {"ghcr", "images of GitHub", kGhcr},
    {"huggingface", "models and datasets; whoever has a token can also write there", kHuggingface},
    {"anthropic", "the Claude API", kAnthropic},
    {"openai", "the OpenAI API", kOpenai},
};

}  // namespace

std::span<const NetworkPreset> NetworkPresets() { return kPresets; }

const NetworkPreset* FindNetworkPreset(std::string_view name) {
  const auto found = std::ranges::find(kPresets, name, &NetworkPreset::name);
  return found == std::end(kPresets) ? nullptr : found;
}

std::string NetworkPresetNames() {
  std::string names;
  for (const NetworkPreset& each : kPresets)
    names += (names.empty() ? "@" : ", @") + std::string(each.name);
  return names;
}

bool IsAnyHostRule(std::string_view rule) {
  if (const size_t blank = rule.find(' '); blank != rule.npos) rule.remove_prefix(blank + 1);
  if (const size_t scheme = rule.find("://"); scheme != rule.npos) rule.remove_prefix(scheme + 3);
  // "*.com" is most of it, too; domains that are reserved for private use (RFC 6761, 6762) are not.
  if (rule.starts_with("*.")) {
    constexpr std::string_view kPrivate[] = {"example",   "internal", "invalid",
                                             "localhost", "local",    "test"};
    const std::string_view domain = rule.substr(2, rule.find_first_of(":/", 2) - 2);
    return domain.find('.') == domain.npos &&
           std::ranges::find(kPrivate, domain) == std::end(kPrivate);
  }
  if (rule.starts_with('*')) return true;
  // [RANGE], or RANGE with its digits behind the slash.
  const bool bracketed = rule.starts_with('[');
  const size_t slash = rule.find('/');
  const size_t end = bracketed ? rule.find(']')
                     : slash == rule.npos
                         ? slash
                         : std::min(rule.find_first_not_of("0123456789", slash + 1), rule.size());
  if (end == rule.npos) return false;
  const auto range = ParseIpRange(rule.substr(bracketed ? 1 : 0, bracketed ? end - 1 : end));
  return range && IsMuchOfTheInternet(*range);
}

std::string RuleForThisMachine(std::string_view rule) {
  const size_t scheme = rule.find("://");
  if (scheme == rule.npos) return "";
  const size_t begin = scheme + 3;
  const std::string_view rest = rule.substr(begin);
  const size_t size =
      rest.starts_with('[') ? rest.find(']') + 1 : std::min(rest.find_first_of(":/"), rest.size());
  std::string host(rest.substr(0, size));
  for (char& c : host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  const bool own = host == "localhost" || host.ends_with(".localhost") ||
                   host.starts_with("127.") || host == "[::1]" || host == "0.0.0.0" ||
                   host == "[::]";
  // "127.0.0.0/8" is a range.
  const bool range = host.find_first_not_of("0123456789.") == host.npos &&
                     rest.substr(size).starts_with('/') && size + 1 < rest.size() &&
                     rest[size + 1] >= '0' && rest[size + 1] <= '9';
  if (!own || range) return "";
  return std::string(rule.substr(0, begin)) + "host.cloche" + std::string(rest.substr(size));
}

}  // namespace cloche
