#include "daemon/sandbox_json.h"

#include <fmt/core.h>

#include "sys/apparmor.h"
#include "sys/landlock.h"
#include "sys/own_process.h"
#include "sys/process.h"

namespace cloche::daemon {
namespace {

std::string NetworkText(const Sandbox& sandbox) {
  const size_t rules = sandbox.terms().request().network.rules.size();
  if (rules == 0) return "none";
  return fmt::format("{} rule{}{}", rules, rules == 1 ? "" : "s",
                     SeeAlso(sandbox.terms(), sandbox.id, "net", "show"));
}

Json Enforced(const Sandbox& sandbox) {
  const SandboxSpec& spec = sandbox.terms().planned().plan.spec;
  Json capabilities = Json::array();
  uint64_t held =
      spec.root_inside || spec.map_root ? sys::RootInsideCapabilities(spec.WritesOutside()) : 0;
  for (int bit = 0; bit < 64; ++bit)
    if ((held >> bit & 1) != 0) capabilities.push_back(sys::CapabilityName(bit));
  const sys::CgroupVersion version = sandbox.resources().version();
  const char* cgroup = version == sys::CgroupVersion::kV2   ? "v2"
                       : version == sys::CgroupVersion::kV1 ? "v1"
                                                            : "none";
  Json namespaces = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"};
  if (sys::HasTimeNamespaces()) namespaces.push_back("time");
  return {{"uid", spec.map_root ? 0 : spec.caller.uid},
          {"capabilities", capabilities},
          {"no_new_privs", true},
          {"seccomp", "allowlist, denials notified"},
          {"landlock_abi", sys::LandlockAbi()},
          {"apparmor", sandbox.launched().apparmor ? sys::kAppArmorProfile : "none"},
          {"namespaces", namespaces},
          {"network", NetworkText(sandbox)},
          {"cgroup", cgroup}};
}

}  // namespace

Json ServicesJson(const Sandbox& sandbox) {
  Json list = Json::array();
  for (const ServiceRequest& each : sandbox.terms().request().services) {
    Json json = {{"name", each.name}, {"state", "stopped"},  {"reason", ""},
                 {"restarts", 0},     {"ports", each.ports}, {"sockets", each.sockets},
                 {"data", each.data}};
    if (const auto service = sandbox.services().Find(each.name)) service->Describe(json);
    list.push_back(std::move(json));
  }
  return list;
}

Json SandboxJson(const Sandbox& sandbox) {
  const SandboxRequest& request = sandbox.terms().request();
  static constexpr const char* kStates[] = {"running", "running", "stopped",
                                            "ended",   "ended",   "unreadable"};
  Json json = {
      {"id", sandbox.id},
      {"name", sandbox.terms().name()},
      {"state", kStates[static_cast<int>(sandbox.state())]},
      {"reason", sandbox.reason()},
      {"created", Rfc3339(sandbox.lifetime().created)},
      {"base", request.base_directory.empty() ? "host" : "dir:" + request.base_directory},
      {"mode", sandbox.terms().planned().plan.spec.mode == Mode::kSystem ? "system" : "rootless"},
      {"keep", sandbox.terms().keep()},
      {"agent", request.agent},
      {"task", request.task},
      {"labels", request.labels},
      {"limits", LimitsToJson(sandbox.terms().limits())},
      {"not_enforced", sandbox.terms().planned().not_enforced},
      {"enforced", Enforced(sandbox)},
      {"commands", sandbox.commands().started()},
      {"head", sandbox.history().head()},
      {"forked_from", sandbox.history().origin()},
      {"project", request.project},
      {"cwd", request.cwd},
      {"project_file", sandbox.terms().project_file_digest()},
      {"services", ServicesJson(sandbox)}};
  json["secrets"] = Json::array();
  for (const SecretGrant& grant : request.network.secrets)
    json["secrets"].push_back({{"name", grant.name}, {"variable", grant.variable}});
  if (request.canaries.wanted) json["decoys"] = DecoysToJson(sandbox.terms().planned().decoys);
  json["hidden"] = Json::array();
  for (const Absence& absence : sandbox.terms().planned().hidden)
    json["hidden"].push_back(absence.path);
  if (sandbox.runs()) {
    const sys::CgroupUsage usage = sandbox.resources().Usage();
    Json known = Json::object();  // without a cgroup nothing is counted
    if (usage.cpu_us >= 0) known["cpu_s"] = static_cast<double>(usage.cpu_us) / 1e6;
    if (usage.memory_bytes >= 0) known["memory_bytes"] = usage.memory_bytes;
    if (usage.pids >= 0) known["pids"] = usage.pids;
    json["usage"] = std::move(known);
    json["init_pid"] = sandbox.launched().init_pid;
    json["uid_base"] = sandbox.launched().uid_base;
  }
  json["denials"] = sandbox.denials().ToJson();
  Json current = nullptr;
  for (const auto& [number, command] : sandbox.commands().all())
    if (command->request().service.empty()) current = command->request().argv;
  json["last_command"] = current;
  return json;
}

}  // namespace cloche::daemon
