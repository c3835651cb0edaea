#include "cli/defaults.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/print.h"

namespace cloche::cli {
namespace {

std::vector<std::string> Strings(const Body& list) {
  std::vector<std::string> out;
  for (const Body& each : list)
    if (each.is_string()) out.push_back(each.get<std::string>());
  return out;
}

bool Has(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

void AddMissing(std::vector<std::string>& list, const std::string& item) {
  if (!Has(list, item)) list.push_back(item);
}

// A project may list the grants it needs: those of the settings, and others that need a yes.
// Without a list it gets all that the settings give.
void AddGrants(const char* flag, std::vector<std::string>& typed, const Body& given_list,
               const Body& wished_list, const GrantQuestion& grant,
               std::vector<std::string>& refused) {
  const std::vector<std::string> given = Strings(given_list);
  if (wished_list.is_null()) {
    for (const std::string& each : given) AddMissing(typed, each);
    return;
  }
  for (const std::string& each : Strings(wished_list)) {
    if (Has(typed, each)) continue;
    const std::string what = fmt::format("{} {}", flag, each);
    if (Has(given, each) || grant(flag, each))
      typed.push_back(each);
    else
      refused.push_back(what);
  }
}

Status AddHidden(std::vector<std::string>& hide, const Body& list, const std::string& from,
                 const std::string& home) {
  for (std::string path : Strings(list)) {
    if (path == "~" || path.starts_with("~/")) {
      if (home.empty())
        return Fail(Code::kInvalid, fmt::format("hide {}: HOME is not set", path),
                    "write an absolute path");
      path = home + path.substr(1);
    } else if (!path.starts_with('/')) {
      path = from + "/" + path;
    }
    AddMissing(hide, path);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> AddDefaults(SandboxFlags& flags, const Surroundings& around,
                                             const GrantQuestion& grant) {
  std::vector<std::string> refused;
  if (flags.no_defaults) return refused;
  AddGrants("--allow", flags.allow, Field(around.settings, "allow"), Field(around.wishes, "allow"),
            grant, refused);
  AddGrants("--secret", flags.secrets, Field(around.settings, "secrets"),
            Field(around.wishes, "secrets"), grant, refused);
  CLOCHE_TRY(AddHidden(flags.hide, Field(around.settings, "hide"), around.home, around.home));
  CLOCHE_TRY(AddHidden(flags.hide, Field(around.wishes, "hide"), around.project, around.home));
  const Body& limits = Field(around.settings, "limits");
  if (limits.is_object()) flags.setting_limits = limits;
  return refused;
}

void LowerLimits(SandboxFlags& flags, const Surroundings& around, const Body& effective,
                 const Body& not_enforced, bool keep) {
  const Body& wished = Field(around.wishes, "limits");
  if (!wished.is_object()) return;
  for (const auto& [name, value] : wished.items()) {
    const double most = value.is_number() ? value.get<double>() : 0;
    const auto typed = flags.limits.find(name);
    if (most == 0 || (typed != flags.limits.end() && !typed->second.empty())) continue;
    const bool impossible = std::ranges::any_of(
        Strings(not_enforced), [&](const std::string& why) { return why.starts_with(name + ":"); });
    if (impossible) continue;
    // A kept sandbox has no end, unless somebody asks for less.
    const bool endless = name == "life" && keep && !Field(flags.setting_limits, "life").is_number();
    const double now = endless ? 0 : Number(effective, name.c_str());
    if (now == 0 || most < now) flags.setting_limits[name] = value;
  }
}

Status TakeDefaults(SandboxFlags& flags, const Surroundings& around, const DefaultsFor& which) {
  // Only what was typed: the person's own settings were meant when they were written.
  CLOCHE_TRY(ConfirmAnyHost(flags.allow, flags.yes, which.json));
  if (!which.quiet) TellProxyRules(flags.allow);
  const auto grant = [&](const std::string& flag, const std::string& value) {
    const std::string risk = flag == "--allow" ? RiskOfRule(value) : "";
    return CanAsk(which.json) &&
           Confirmed(fmt::format("{}/cloche.toml asks for {} {}{}{}. Grant it this time?",
                                 EscapeForTerminal(around.project), flag, EscapeForTerminal(value),
                                 risk.empty() ? "" : "; ", risk));
  };
  const auto refused = AddDefaults(flags, around, grant);
  if (!refused) return std::unexpected(refused.error());
  if (!which.quiet)
    for (const std::string& what : *refused)
      WriteAll(STDERR_FILENO,
               fmt::format("cloche: not granted: cloche.toml asks for {}; give that, or add it to "
                           "~/.config/cloche/config.toml (docs/settings.md)\n",
                           EscapeForTerminal(what)));
  if (flags.no_defaults || Field(around.wishes, "limits").empty()) return {};
  // Only the daemon knows what the limits are where nobody says anything.
  ASSIGN_OR_RETURN(const Body body, SandboxRequest(flags, around));
  ASSIGN_OR_RETURN(const Json plan, Call("POST", "/v1/explain", body));
  LowerLimits(flags, around, Field(plan, "limits"), Field(plan, "not_enforced"), which.keep);
  return {};
}

}  // namespace cloche::cli
