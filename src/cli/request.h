#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::cli {

// Turns what the user typed into the bodies of openapi.yaml. Pure: what is read from the process
// and its machine comes in as Surroundings.

struct Surroundings {
  std::string cwd;
  std::string home;                 // empty when HOME is unset
  std::string project;              // empty when there is none
  std::string base_commit;          // of the project, where somebody asked for it
  std::string project_file;         // its cloche.toml, where a sandbox is made
  nlohmann::ordered_json wishes;    // its [sandbox]: {allow, secrets, hide, limits}; null: none
  nlohmann::ordered_json settings;  // that of the person's own file
  std::vector<std::string> environment;  // NAME=value, unfiltered
};

// As typed; the key is the flag's name without dashes ("memory").
using LimitFlags = std::map<std::string, std::string>;

struct SandboxFlags {
  std::string name;
  std::string base;
  LimitFlags limits;
  std::vector<std::string> ro, rw, hide;
  bool declared = false;
  std::vector<std::string> inputs;
  std::string out;
  std::string agent, task;
  std::vector<std::string> labels;       // k=v
  std::vector<std::string> env;          // NAME or NAME=value, wanted although not on the allowlist
  std::vector<std::string> allow, deny;  // rules about destinations
  std::vector<std::string> secrets;      // NAME or NAME:VARIABLE
  std::vector<std::string> net_limits;   // NAME=VALUE
  std::vector<std::string> sign;         // keys of the ssh-agent
  std::string sign_limit;                // signatures in a minute
  bool yes = false;                      // do not ask about --allow '*'
  bool proxy_env = false;
  bool canaries = false;  // lay decoys
  bool drop_root = false;
  bool in_memory = false;
  std::string on_violation;
  std::string auto_snapshot;              // every-command, or a time
  nlohmann::ordered_json setting_limits;  // of settings and wishes, as numbers
  bool no_defaults = false;               // neither the project's wishes nor the person's settings
};

struct WindowSize {
  uint16_t rows = 24;
  uint16_t columns = 80;
};

struct CommandFlags {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string cwd;    // "" = where we are, if the sandbox has that, too
  LimitFlags limits;  // wall and output only
  std::string agent;
  std::optional<WindowSize> pty;
  bool read_stdin = false;
  bool background = false;
  bool fresh = false;
  bool timing = false;
};

using Body = nlohmann::ordered_json;

Result<Body> SandboxRequest(const SandboxFlags& flags, const Surroundings& around);
Result<Body> CommandRequest(const CommandFlags& flags, const Surroundings& around);
// Names, limits and variables come from `sandbox`; argv, terminal and timing from `command`.
Result<Body> RunRequest(const SandboxFlags& sandbox, const CommandFlags& command, bool keep,
                        const Surroundings& around);

// Keys that may sign, and the agent that has them: {agent, KEY: [...]}.
Result<Body> SigningBody(const std::vector<std::string>& keys, const char* key,
                         const std::vector<std::string>& environment);

Result<Body> LimitsBody(const LimitFlags& flags);

// The variables that are sent, and those that stay here.
struct Environment {
  std::vector<std::string> kept;
  std::vector<std::string> asked_for;  // names of --env, which pass the daemon's filter too
  std::vector<std::string> dropped_secrets;
  std::vector<std::string> dropped_other;
};
Result<Environment> ChooseEnvironment(const std::vector<std::string>& environment,
                                      const std::vector<std::string>& wanted);

// The nearest directory at or above `cwd` that holds .git or cloche.toml; "" when there is none or
// when it is the home directory or the root.
std::string FindProject(const std::string& cwd, const std::string& home,
                        const std::function<bool(const std::string&)>& exists);

Result<std::string> SnapshotTarget(std::string_view ref, std::string_view rest = "");
// NAME or NAME:VARIABLE, as the API takes it.
Body SecretGrantBody(const std::string& text);
// "/v1/sandboxes/REF" with REF as one path segment, whatever it holds.
Result<std::string> SandboxTarget(std::string_view ref, std::string_view rest = "");
std::string EncodeSegment(std::string_view text);

// "?a=1&b=2", skipping empty values; "" without any.
std::string QueryString(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace cloche::cli
