#include "policy/environment.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

namespace cloche {
namespace {

using namespace std::string_view_literals;

// Sorted, for binary search. Left out on purpose: what steers the loader or a shell before our
// command runs (LD_*, BASH_ENV, NODE_OPTIONS), what points at a service of the host (SSH_AUTH_SOCK,
// DBUS_*, DISPLAY, WAYLAND_*, XDG_RUNTIME_DIR), and every proxy: none of it exists inside.
// clang-format off
constexpr std::array kAllowed = {
    "ANDROID_HOME"sv, "ANDROID_SDK_ROOT"sv, "ANT_HOME"sv, "AR"sv, "AS"sv, "ASDF_DATA_DIR"sv,
    "ASDF_DIR"sv, "BUN_INSTALL"sv, "CABAL_DIR"sv, "CAML_LD_LIBRARY_PATH"sv, "CARGO_BUILD_JOBS"sv,
    "CARGO_HOME"sv, "CARGO_INCREMENTAL"sv, "CARGO_TARGET_DIR"sv, "CARGO_TERM_COLOR"sv, "CC"sv,
    "CCACHE_DIR"sv, "CFLAGS"sv, "CGO_ENABLED"sv, "CI"sv, "CLICOLOR"sv, "CLICOLOR_FORCE"sv,
    "CMAKE_BUILD_PARALLEL_LEVEL"sv, "CMAKE_BUILD_TYPE"sv, "CMAKE_GENERATOR"sv,
    "CMAKE_PREFIX_PATH"sv, "CMAKE_TOOLCHAIN_FILE"sv, "COLORTERM"sv, "COLUMNS"sv, "COMPOSER_HOME"sv,
    "CONDA_DEFAULT_ENV"sv, "CONDA_EXE"sv, "CONDA_PREFIX"sv, "CONDA_PYTHON_EXE"sv, "CONDA_SHLVL"sv,
    "COREPACK_HOME"sv, "CPATH"sv, "CPLUS_INCLUDE_PATH"sv, "CPP"sv, "CPPFLAGS"sv,
    "CTEST_OUTPUT_ON_FAILURE"sv, "CTEST_PARALLEL_LEVEL"sv, "CURL_CA_BUNDLE"sv, "CXX"sv,
    "CXXFLAGS"sv, "C_INCLUDE_PATH"sv, "DEBEMAIL"sv, "DEBFULLNAME"sv, "DEBIAN_FRONTEND"sv,
    "DEB_BUILD_OPTIONS"sv, "DENO_DIR"sv, "DOTNET_CLI_TELEMETRY_OPTOUT"sv, "DOTNET_NOLOGO"sv,
    "DOTNET_ROOT"sv, "EDITOR"sv, "FC"sv, "FFLAGS"sv, "FNM_DIR"sv, "FORCE_COLOR"sv, "GCC_COLORS"sv,
    "GEM_HOME"sv, "GEM_PATH"sv, "GHCUP_INSTALL_BASE_PREFIX"sv, "GIT_AUTHOR_DATE"sv,
    "GIT_AUTHOR_EMAIL"sv, "GIT_AUTHOR_NAME"sv, "GIT_COMMITTER_DATE"sv, "GIT_COMMITTER_EMAIL"sv,
    "GIT_COMMITTER_NAME"sv, "GIT_EDITOR"sv, "GIT_PAGER"sv, "GO111MODULE"sv, "GOARCH"sv, "GOBIN"sv,
    "GOCACHE"sv, "GOFLAGS"sv, "GOMAXPROCS"sv, "GOMODCACHE"sv, "GOOS"sv, "GOPATH"sv, "GOROOT"sv,
    "GOTOOLCHAIN"sv, "GRADLE_HOME"sv, "GRADLE_USER_HOME"sv, "HEX_HOME"sv, "HOME"sv, "INFOPATH"sv,
    "JAVA_HOME"sv, "JDK_HOME"sv, "JULIA_DEPOT_PATH"sv, "KOTLIN_HOME"sv, "LANG"sv, "LANGUAGE"sv,
    "LD"sv, "LDFLAGS"sv, "LDLIBS"sv, "LESS"sv, "LIBRARY_PATH"sv, "LINES"sv, "LOGNAME"sv,
    "LS_COLORS"sv, "LUA_CPATH"sv, "LUA_PATH"sv, "M2_HOME"sv, "MAKEFLAGS"sv, "MANPATH"sv,
    "MAVEN_HOME"sv, "MISE_DATA_DIR"sv, "MIX_ENV"sv, "MIX_HOME"sv, "NINJA_STATUS"sv, "NIX_PATH"sv,
    "NIX_PROFILES"sv, "NM"sv, "NODE_ENV"sv, "NODE_EXTRA_CA_CERTS"sv, "NODE_PATH"sv, "NO_COLOR"sv,
    "NPM_CONFIG_CACHE"sv, "NPM_CONFIG_PREFIX"sv, "NVM_BIN"sv, "NVM_DIR"sv, "NVM_INC"sv, "OBJCOPY"sv,
    "OCAML_TOPLEVEL_PATH"sv, "OMP_NUM_THREADS"sv, "OPAM_SWITCH_PREFIX"sv, "PAGER"sv, "PATH"sv,
    "PERL5LIB"sv, "PERL_LOCAL_LIB_ROOT"sv, "PERL_MB_OPT"sv, "PERL_MM_OPT"sv, "PIPX_BIN_DIR"sv,
    "PIPX_HOME"sv, "PKG_CONFIG_PATH"sv, "PNPM_HOME"sv, "POETRY_HOME"sv, "PYENV_ROOT"sv,
    "PYENV_VERSION"sv, "PYTEST_ADDOPTS"sv, "PYTHONDONTWRITEBYTECODE"sv, "PYTHONHASHSEED"sv,
    "PYTHONHOME"sv, "PYTHONIOENCODING"sv, "PYTHONPATH"sv, "PYTHONUNBUFFERED"sv, "PYTHONUTF8"sv,
    "RACK_ENV"sv, "RAILS_ENV"sv, "RANLIB"sv, "RBENV_ROOT"sv, "RBENV_VERSION"sv,
    "REQUESTS_CA_BUNDLE"sv, "RUBYLIB"sv, "RUSTC_WRAPPER"sv, "RUSTDOCFLAGS"sv, "RUSTFLAGS"sv,
    "RUSTUP_HOME"sv, "RUSTUP_TOOLCHAIN"sv, "RUST_BACKTRACE"sv, "RUST_LOG"sv, "R_LIBS"sv,
    "R_LIBS_USER"sv, "SDKMAN_DIR"sv, "SHELL"sv, "SOURCE_DATE_EPOCH"sv, "SSL_CERT_DIR"sv,
    "SSL_CERT_FILE"sv, "STACK_ROOT"sv, "STRIP"sv, "SYSTEMD_COLORS"sv, "TERM"sv, "TERMINFO"sv,
    "TERMINFO_DIRS"sv, "TMPDIR"sv, "TZ"sv, "TZDIR"sv, "USER"sv, "UV_CACHE_DIR"sv,
    "UV_PYTHON_INSTALL_DIR"sv, "VIRTUAL_ENV"sv, "VISUAL"sv, "VOLTA_HOME"sv, "XDG_CACHE_HOME"sv,
    "XDG_CONFIG_DIRS"sv, "XDG_CONFIG_HOME"sv, "XDG_DATA_DIRS"sv, "XDG_DATA_HOME"sv,
    "XDG_STATE_HOME"sv, "npm_config_cache"sv, "npm_config_prefix"sv};
// clang-format on
static_assert(std::ranges::is_sorted(kAllowed));

constexpr std::array kUnnamed = {"OLDPWD"sv, "PWD"sv, "SHLVL"sv, "_"sv};

// A word of a name (between underscores) that is one of these, or ends with one of the second.
constexpr std::array kSecretWords = {"AUTH"sv, "AUTHORIZATION"sv, "CREDS"sv,  "COOKIE"sv,
                                     "DSN"sv,  "KEY"sv,           "KEYS"sv,   "PASS"sv,
                                     "PAT"sv,  "PWD"sv,           "PRIVATE"sv};
constexpr std::array kSecretEndings = {"APIKEY"sv, "CREDENTIAL"sv, "CREDENTIALS"sv, "PASSPHRASE"sv,
                                       "PASSWD"sv, "PASSWORD"sv,   "PASSWORDS"sv,   "PRIVATEKEY"sv,
                                       "SECRET"sv, "SECRETKEY"sv,  "SECRETS"sv,     "TOKEN"sv,
                                       "TOKENS"sv};

struct Prefix {
  std::string_view text;
  size_t rest;  // at least so many characters follow
};
constexpr std::array kSecretPrefixes = {
    Prefix{"ghp_", 16},
    Prefix{"gho_", 16},
    Prefix{"ghu_", 16},
    Prefix{"ghs_", 16},
    Prefix{"ghr_", 16},
    Prefix{"github_pat_", 16},
    Prefix{"glpat-", 12},
    Prefix{"sk-", 16},
    Prefix{"sk-ant-", 16},
    Prefix{"sk-ant-api03-", 16},
    Prefix{"sk-or-v1-", 16},
    Prefix{"sk-proj-", 16},
    Prefix{"sk_live_", 8},
    Prefix{"sk_test_", 8},
    Prefix{"rk_live_", 8},
    Prefix{"AKIA", 16},
    Prefix{"ASIA", 16},
    Prefix{"xoxb-", 8},
    Prefix{"xoxp-", 8},
    Prefix{"xoxa-", 8},
    Prefix{"xoxr-", 8},
    Prefix{"xoxs-", 8},
    Prefix{"xoxe-", 8},
    Prefix{"xapp-", 8},
    Prefix{"AIza", 30},
    Prefix{"ya29.", 16},
    Prefix{"npm_", 30},
    Prefix{"pypi-", 30},
    Prefix{"dop_v1_", 16},
    Prefix{"hf_", 24},
    Prefix{"dckr_pat_", 16},
    Prefix{"shpat_", 16},
    Prefix{"hvs.", 16},
    Prefix{"SG.", 30},
    Prefix{"AGE-SECRET-KEY-", 16},
};

bool IsTokenCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

constexpr size_t kShortestSecret =
    std::ranges::min(kSecretPrefixes |
                     std::views::transform([](const Prefix& p) { return p.text.size() + p.rest; }));

bool TokenLooksSecret(std::string_view token) {
  if (token.size() < kShortestSecret) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const Prefix& prefix : kSecretPrefixes)
    if (token.starts_with(prefix.text) && token.size() >= prefix.text.size() + prefix.rest &&
        std::ranges::any_of(token, is_digit))
      return true;
  // A JSON web token: the header is base64 of '{"', then two dots.
  return token.starts_with("eyJ") && token.size() > 40 && std::ranges::count(token, '.') == 2;
}

bool HoldsUrlPassword(std::string_view value) {
  for (size_t at = value.find("://"); at != value.npos; at = value.find("://", at + 3)) {
    const std::string_view rest = value.substr(at + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?# \t\n"));
    const size_t end = authority.rfind('@');
    const size_t colon = authority.find(':');
    if (end != authority.npos && colon < end && colon + 1 < end) return true;
  }
  return false;
}

bool IsAllowed(std::string_view name, std::string_view value) {
  // A jobserver's descriptors do not exist inside, and make complains about each.
  if (name == "MAKEFLAGS" && value.find("--jobserver") != value.npos) return false;
  return name.starts_with("LC_") || std::ranges::binary_search(kAllowed, name);
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::ranges::all_of(name,
                             [](char c) { return IsTokenCharacter(c) && c != '-' && c != '.'; });
}

}  // namespace

bool NameLooksSecret(std::string_view name) {
  std::string upper(name);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const bool single_word = upper.find('_') == upper.npos;
  std::string_view rest = upper;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('_'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (std::ranges::find(kSecretWords, word) != kSecretWords.end() &&
        !(single_word && word == "PWD"))
      return true;
    if (std::ranges::any_of(kSecretEndings, [&](auto each) { return word.ends_with(each); }))
      return true;
  }
  return false;
}

std::string_view PublicPrefix(std::string_view value) {
  std::string_view longest;
  for (const Prefix& prefix : kSecretPrefixes)
    if (value.starts_with(prefix.text) && prefix.text.size() > longest.size())
      longest = prefix.text;
  return longest;
}

bool ValueLooksSecret(std::string_view value) {
  if (HoldsUrlPassword(value)) return true;
  if (value.find("PRIVATE KEY-----") != value.npos) return true;
  size_t begin = 0;
  while (begin < value.size()) {
    if (!IsTokenCharacter(value[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < value.size() && IsTokenCharacter(value[end])) ++end;
    // Part of a path (/opt/sk-...) is a file's name, unless it is the user of a URL (//ghp_...@).
    const bool in_path =
        begin > 0 && value[begin - 1] == '/' && !(begin > 1 && value[begin - 2] == '/');
    if (!in_path && TokenLooksSecret(value.substr(begin, end - begin))) return true;
    begin = end;
  }
  return false;
}

FilteredEnvironment FilterEnvironment(std::span<const std::string> env,
                                      std::span<const std::string> extra_names) {
  FilteredEnvironment result;
  std::vector<std::string_view> seen;
  for (const std::string& entry : env) {
    const std::string_view view = entry;
    const size_t equals = view.find('=');
    const std::string_view name = view.substr(0, equals);
    const bool well_formed =
        equals != view.npos && IsPlainName(name) && view.find('\0') == view.npos;
    // Programs differ in which of two equal names they believe; getenv believes the first.
    if (std::ranges::find(seen, name) != seen.end()) continue;
    seen.push_back(name);
    const std::string_view value = well_formed ? view.substr(equals + 1) : std::string_view();
    const bool asked_for = well_formed && std::ranges::find(extra_names, name) != extra_names.end();
    if (!asked_for && std::ranges::find(kUnnamed, name) != kUnnamed.end()) continue;
    if (!asked_for && (NameLooksSecret(name) || ValueLooksSecret(value)))
      result.dropped_secrets.emplace_back(name);
    else if (asked_for || (well_formed && IsAllowed(name, value)))
      result.kept.push_back(entry);
    else
      result.dropped_other.emplace_back(name);
  }
  return result;
}

std::vector<std::string> JoinEnvironments(const AskedEnvironment& command,
                                          const AskedEnvironment& sandbox) {
  std::vector<std::string> joined(command.env.begin(), command.env.end());
  for (const std::string& variable : sandbox.env) {
    const std::string name = variable.substr(0, variable.find('='));
    if (std::ranges::find(sandbox.names, name) == sandbox.names.end() ||
        std::ranges::find(command.names, name) != command.names.end())
      continue;
    std::erase_if(joined, [&](const std::string& each) { return each.starts_with(name + "="); });
    joined.push_back(variable);
  }
  return joined;
}

}  // namespace cloche
