#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

// The hosts behind the name of a registry: `--allow @npm`.
struct NetworkPreset {
  std::string_view name;  // without the @
  std::string_view what;
  std::span<const std::string_view> rules;
};

std::span<const NetworkPreset> NetworkPresets();
const NetworkPreset* FindNetworkPreset(std::string_view name);  // without the @; null: unknown
std::string NetworkPresetNames();                               // "@npm, @pypi, ..."

// Every HTTPS host, every name of a top-level domain, or addresses that are much of the internet:
// what a sandbox can read, it can send anywhere.
bool IsAnyHostRule(std::string_view rule);

// Of a rule such as "http://localhost:3000", which holds for programs that ask the proxy only: the
// one for this machine, "http://host.cloche:3000". "" for all others.
std::string RuleForThisMachine(std::string_view rule);

}  // namespace cloche
