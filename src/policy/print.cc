#include "policy/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cloche {
namespace {

using Json = nlohmann::ordered_json;

const char* KindName(MountKind kind) {
  switch (kind) {
    case MountKind::kOverlay:
      return "overlay";
    case MountKind::kBind:
      return "bind";
    case MountKind::kTmpfs:
      return "tmpfs";
    case MountKind::kProc:
      return "proc";
    case MountKind::kDev:
      return "dev";
    case MountKind::kSys:
      return "sys";
  }
  return "?";
}

const char* KindName(FileRuleKind kind) {
  switch (kind) {
    case FileRuleKind::kHide:
      return "hide";
    case FileRuleKind::kBlankHashes:
      return "blank_hashes";
    case FileRuleKind::kHideGlob:
      return "hide_glob";
    case FileRuleKind::kDecoy:
    case FileRuleKind::kDecoyInstead:
      return "decoy";
  }
  return "?";
}

const char* ModeName(Mode mode) { return mode == Mode::kSystem ? "system" : "rootless"; }

Json ToJson(const MountOp& op) {
  Json out = {{"kind", KindName(op.kind)}, {"target", op.target}};
  if (!op.source.empty()) out["source"] = op.source;
  if (op.read_only) out["read_only"] = true;
  if (op.recursive) out["recursive"] = true;
  if (op.optional) out["optional"] = true;
  if (op.blank) out["blank"] = true;
  if (op.kind == MountKind::kTmpfs) {
    out["size_bytes"] = op.size_bytes;
    out["mode"] = fmt::format("{:04o}", op.mode);
  }
  return out;
}

Json ToJson(const FileRule& rule) {
  Json out = {{"kind", KindName(rule.kind)}, {"path", rule.path}};
  // The content of a decoy belongs inside.
  if (rule.kind == FileRuleKind::kHideGlob) out["content"] = rule.content;
  if (rule.kind == FileRuleKind::kDecoyInstead) out["instead"] = true;
  return out;
}

Json PlanToJson(const LaunchPlan& plan) {
  const SandboxSpec& spec = plan.spec;
  Json out = {{"sandbox_id", plan.sandbox_id},
              {"keep", plan.keep},
              {"mode", ModeName(spec.mode)},
              {"uid", spec.caller.uid},
              {"gid", spec.caller.gid},
              {"groups", spec.caller.groups},
              {"base_is_host", spec.base_is_host},
              {"root_inside", spec.root_inside},
              {"map_root", spec.map_root},
              {"hostname", spec.hostname},
              {"cpus", spec.cpus},
              {"mounts", Json::array()},
              {"files", Json::array()}};
  for (const MountOp& op : spec.mounts) out["mounts"].push_back(ToJson(op));
  for (const FileRule& rule : spec.files) out["files"].push_back(ToJson(rule));
  out["in_memory"] = plan.in_memory;
  out["limits"] = {{"cpu_millis", plan.limits.cpu_millis},
                   {"memory_bytes", plan.limits.memory_bytes},
                   {"disk_bytes", plan.limits.disk_bytes},
                   {"inodes", plan.limits.inodes},
                   {"pids", plan.limits.pids}};
  return out;
}

std::string Describe(const MountOp& op) {
  const std::string from =
      op.source == op.target ? "" : fmt::format(" of {}", EscapeForTerminal(op.source));
  switch (op.kind) {
    case MountKind::kOverlay:
      return op.read_only ? fmt::format("as on the host{}, read-only", from)
                          : fmt::format("copy-on-write{}: changes stay in the sandbox", from);
    case MountKind::kBind:
      return op.read_only ? fmt::format("the host's own{}, read-only", from)
                          : fmt::format("the host's own{}: WRITES ARE REAL", from);
    case MountKind::kTmpfs:
      return op.read_only ? "empty and read-only: the host's content is out of sight"
                          : fmt::format("fresh and empty, up to {}", FormatBytes(op.size_bytes));
    case MountKind::kProc:
      return "the sandbox's own processes only";
    case MountKind::kDev:
      return "a few harmless devices and own terminals";
    case MountKind::kSys:
      return "its own limits and the CPUs, read-only";
  }
  return "";
}

std::string Describe(const FileRule& rule, const Planned& planned) {
  switch (rule.kind) {
    case FileRuleKind::kHide: {
      const auto absence = std::ranges::find(planned.hidden, rule.path, &Absence::path);
      return absence == planned.hidden.end() ? "" : absence->why;
    }
    case FileRuleKind::kBlankHashes:
      return "every password field is *";
    case FileRuleKind::kHideGlob: {
      std::string patterns = rule.content;
      while (patterns.ends_with('\n')) patterns.pop_back();
      std::ranges::replace(patterns, '\n', ' ');
      return fmt::format("absent at any depth below: {}", EscapeForTerminal(patterns));
    }
    case FileRuleKind::kDecoy:
      return "a decoy credential";
    case FileRuleKind::kDecoyInstead:
      return "a decoy credential, if there is such a file";
  }
  return "";
}

std::string DescribeCaller(const SandboxSpec& spec) {
  if (spec.map_root) return fmt::format("root inside is uid {} outside", spec.caller.uid);
  if (spec.root_inside) return "root of the sandbox's own user namespace";
  return fmt::format("uid {} as outside, no capabilities", spec.caller.uid);
}

std::string DescribeLimits(const Limits& limits) {
  std::string out;
  const auto add = [&](const char* name, const std::string& value) {
    out += fmt::format("  {:<9} {}\n", name, value);
  };
  const auto count = [](uint64_t n) { return n == 0 ? "no limit" : fmt::to_string(n); };
  const auto bytes = [](uint64_t n) { return n == 0 ? "no limit" : FormatBytes(n); };
  const auto time = [](double s) { return s == 0 ? "no limit" : FormatDuration(s); };
  const double cpu = limits.cpu.value_or(0);
  add("cpu", cpu == 0 ? "no limit" : fmt::format("{} CPUs", cpu));
  add("memory", bytes(limits.memory.value_or(0)));
  add("disk", bytes(limits.disk.value_or(0)));
  add("inodes", count(limits.inodes.value_or(0)));
  add("pids", count(limits.pids.value_or(0)));
  add("files", count(limits.files.value_or(0)));
  add("output", bytes(limits.output.value_or(0)));
  add("wall", time(limits.wall.value_or(0)));
  add("idle", time(limits.idle.value_or(0)));
  add("life", time(limits.life.value_or(0)));
  add("commands", count(limits.commands.value_or(0)));
  add("denials", count(limits.denials.value_or(0)));
  return out;
}

}  // namespace

Json PlannedToJson(const Planned& planned) {
  Json out = {{"plan", PlanToJson(planned.plan)},     {"limits", LimitsToJson(planned.limits)},
              {"not_enforced", planned.not_enforced}, {"cwd", planned.cwd},
              {"differences", Json::array()},         {"hidden", Json::array()}};
  for (const Absence& absence : planned.hidden) out["hidden"].push_back(absence.path);
  if (!planned.decoys.empty()) out["decoys"] = DecoysToJson(planned.decoys);
  for (const Difference& difference : planned.differences)
    out["differences"].push_back({{"what", difference.what}, {"why", difference.why}});
  return out;
}

std::string PlannedToText(const Planned& planned) {
  const SandboxSpec& spec = planned.plan.spec;
  std::string out = fmt::format("mode     {}\nuser     {}\n\nmounts, in order\n",
                                ModeName(spec.mode), DescribeCaller(spec));
  Table mounts({});
  for (const MountOp& op : spec.mounts)
    mounts.AddRow(
        {KindName(op.kind), op.target, Describe(op) + (op.optional ? " (if it exists)" : "")});
  out += mounts.Render(false, "  ");
  if (!spec.files.empty()) {
    out += "\nfiles that differ from the host's, where they exist\n";
    Table files({});
    for (const FileRule& rule : spec.files)
      files.AddRow({KindName(rule.kind), rule.path, Describe(rule, planned)});
    out += files.Render(false, "  ");
  }
  out += "\nlimits\n" + DescribeLimits(planned.limits);
  if (!planned.not_enforced.empty()) {
    out += "\nnot enforced\n";
    for (const std::string& line : planned.not_enforced) out += fmt::format("  {}\n", line);
  }
  return out + "\n" + DifferencesToText(planned);
}

std::string DifferencesToText(const Planned& planned) {
  std::string out = "differences from the host\n";
  for (const Difference& difference : planned.differences)
    out += fmt::format("  {}: {}\n", EscapeForTerminal(difference.what),
                       EscapeForTerminal(difference.why));
  if (!planned.hidden.empty())
    out += fmt::format("  {} paths are hidden, if they exist: `cloche explain` lists them\n",
                       planned.hidden.size());
  return out;
}

}  // namespace cloche
