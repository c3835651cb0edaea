#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/limits.h"

namespace cloche::project {

inline constexpr const char* kFileName = "cloche.toml";
inline constexpr size_t kMostFileBytes = 64 << 10;
inline constexpr size_t kMostStages = 32;
inline constexpr size_t kMostCommands = 64;  // of one key
inline constexpr size_t kMostPatterns = 1024;
inline constexpr double kMostSeconds = 7 * 24 * 3600;

// As written; src/change/rules/globs.h parses them.
struct PathPatterns {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::vector<std::string> read_only;
};

enum class Approval { kAuto, kNotify, kApprove };
const char* ApprovalName(Approval approval);

struct Stage {
  std::string name;
  std::vector<std::string> verify;   // in a copy of the sandbox
  std::optional<std::string> apply;  // a directory; "" = the project; none: apply nothing
  std::vector<std::string> check;    // in a fresh sandbox, or on the host
  bool on_host = false;
  std::string deploy;  // on the host; "" = none
  std::string environment;
  Approval approval = Approval::kApprove;
  double cancel_window = 5;
  std::vector<std::string> health;
  double health_for = 600;
  double health_every = 10;
  std::string rollback;  // of the deployment
  std::string affects;   // who notices, shown to the approver

  bool ChangesReality() const { return apply.has_value() || !deploy.empty(); }
  // It checks something that runs on the host, so it must run there.
  bool HealthOnHost() const { return on_host || !deploy.empty(); }
};

// [sandbox]: defaults for new sandboxes. In a person's own file they are granted; in a project's
// file they are a request, which can only reduce them.
struct SandboxDefaults {
  std::optional<std::vector<std::string>> allow;    // rules of docs/network.md
  std::optional<std::vector<std::string>> secrets;  // NAME or NAME:VARIABLE
  std::vector<std::string> hide;                    // as written
  Limits limits;
};

struct ProjectFile {
  PathPatterns promote;
  SandboxDefaults sandbox;
  std::vector<Stage> stages;
};

bool IsKnownEnvironment(std::string_view environment);

// Strict: an unknown key is an error that names its line. `file` is the name used in messages.
Result<ProjectFile> ReadProjectFile(std::string_view toml, const std::string& file = kFileName);

// A user's own settings, ~/.config/cloche/config.toml.
Result<SandboxDefaults> ReadSettings(std::string_view toml, const std::string& file);

}  // namespace cloche::project
