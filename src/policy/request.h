#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/canaries.h"
#include "policy/limits.h"
#include "policy/network_request.h"
#include "policy/service_request.h"
#include "policy/sign_request.h"

namespace cloche {

// The requests of openapi.yaml, checked: every path absolute and clean (see paths.h), every string
// free of NUL, every number within sense. Paths and hosts that the strings name may still not
// exist.

struct DeclaredView {
  std::vector<std::string> inputs;
  std::string output;  // may be empty
  std::optional<uint64_t> tmp;
  bool operator==(const DeclaredView&) const = default;
};

enum class OnViolation { kReport, kKill };

struct SandboxRequest {
  std::string name;
  std::string base_directory;  // of "dir:PATH"; empty = the host
  std::string cwd;
  std::string home;
  std::string project;
  std::string base_commit;   // of the project's git repository, when the sandbox was made
  std::string project_file;  // its cloche.toml of that moment; what it says binds promotions
  std::vector<std::string> env;
  std::vector<std::string> env_names;  // asked for by name: pass the filter
  Limits limits;
  std::vector<std::string> ro;
  std::vector<std::string> rw;
  std::vector<std::string> hide;
  std::optional<DeclaredView> declared;
  bool drop_root = false;
  bool in_memory = false;  // keep the changes in a tmpfs
  std::string agent;
  std::string task;
  std::map<std::string, std::string> labels;
  OnViolation on_violation = OnViolation::kReport;
  bool snapshot_commands = false;        // save the state before each command
  std::optional<double> snapshot_every;  // seconds
  NetworkRequest network;
  CanaryRequest canaries;
  SigningRequest signing;
  std::vector<ServiceRequest> services;  // declared when their data was there
  bool operator==(const SandboxRequest&) const = default;
};

struct PtySize {
  uint16_t rows = 24;
  uint16_t columns = 80;
};

struct CommandRequest {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::vector<std::string> env_names;
  std::string cwd;
  bool cwd_optional = false;  // fall back to the sandbox's own directory
  std::optional<PtySize> pty;
  bool wants_stdin = false;
  bool background = false;
  bool fresh = false;
  std::optional<double> wall;
  std::optional<uint64_t> output;
  bool timing = false;
  std::string agent;
  std::string service;  // not of a request: which one this is
};

struct RunRequest {
  SandboxRequest sandbox;
  CommandRequest command;
  bool keep = false;
};

Result<SandboxRequest> ParseSandboxRequest(const nlohmann::json& body);
Result<CommandRequest> ParseCommandRequest(const nlohmann::json& body);
Result<RunRequest> ParseRunRequest(const nlohmann::json& body);

// One for a single command: it has no name, is never saved and serves nobody.
SandboxRequest TwinOf(SandboxRequest request);

// {text}: another cloche.toml from now on.
Result<std::string> ParseProjectFileRequest(const nlohmann::json& body);

Status CheckSandboxName(std::string_view name);

}  // namespace cloche
