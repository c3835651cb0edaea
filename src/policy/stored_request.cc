#include "policy/stored_request.h"

#include <fmt/core.h>

namespace cloche {
namespace {

using nlohmann::json;

json DeclaredToJson(const DeclaredView& declared) {
  const auto& [inputs, output, tmp] = declared;
  json out = {{"inputs", inputs}};
  if (!output.empty()) out["output"] = output;
  if (tmp) out["tmp"] = *tmp;
  return out;
}

}  // namespace

json StoreRequest(const SandboxRequest& request) {
  // All of them by name: a field that is added is added here, or this does not compile.
  const auto& [name, base_directory, cwd, home, project, base_commit, project_file, env, env_names,
               limits, ro, rw, hide, declared, drop_root, in_memory, agent, task, labels,
               on_violation, snapshot_commands, snapshot_every, network, canaries, signing,
               services] = request;
  json out = json::object();
  const auto put = [&out](const char* key, const auto& value) {
    if (!value.empty()) out[key] = value;
  };
  put("name", name);
  if (!base_directory.empty()) out["base"] = "dir:" + base_directory;
  put("cwd", cwd);
  put("home", home);
  put("project", project);
  put("base_commit", base_commit);
  put("project_file", project_file);
  out["env"] = env;
  put("env_names", env_names);
  out["limits"] = LimitsToJson(limits);
  put("ro", ro);
  put("rw", rw);
  put("hide", hide);
  if (declared) out["declared"] = DeclaredToJson(*declared);
  if (drop_root) out["drop_root"] = true;
  if (in_memory) out["in_memory"] = true;
  put("agent", agent);
  put("task", task);
  put("labels", labels);
  if (on_violation == OnViolation::kKill) out["on_violation"] = "kill";
  if (snapshot_commands) out["auto_snapshot"] = "every-command";
  if (snapshot_every) out["auto_snapshot"] = *snapshot_every;
  if (network != NetworkRequest()) out["network"] = NetworkToJson(network);
  if (canaries.wanted)
    out["canaries"] = canaries.decoys.empty() ? json(true) : CanariesToJson(canaries);
  if (signing != SigningRequest()) out["sign"] = SigningToJson(signing);
  for (const ServiceRequest& each : services) out["services"].push_back(ServiceToJson(each));
  return out;
}

Result<SandboxRequest> ReadStoredRequest(json stored) {
  if (!stored.is_object()) return Fail(Code::kInvalid, "read request: it is not an object");
  for (const char* key : {"argv", "cwd_optional", "pty", "stdin", "background", "fresh", "wall",
                          "output", "timing", "keep"})
    stored.erase(key);
  return ParseSandboxRequest(stored);
}

Status CheckStorable(const SandboxRequest& request) {
  const Result<SandboxRequest> read = ReadStoredRequest(StoreRequest(request));
  if (!read)
    return Fail(read.error().code, "keep this sandbox: " + read.error().message, read.error().cure);
  if (*read != request)
    return Fail(Code::kInternal, "keep this sandbox: its record would say something else",
                "please report this, with the command that did it");
  return {};
}

}  // namespace cloche
