#include "change/project/project_file.h"

#include <set>

#include "base/toml_reader.h"

namespace cloche::project {
namespace {

constexpr std::array kTopKeys = {"promote", "sandbox", "stage"};
constexpr std::array kSettingsKeys = {"sandbox"};
constexpr std::array kSandboxKeys = {"allow", "secrets", "hide", "limits"};
constexpr std::array kLimitKeys = {"cpu",    "memory", "disk", "inodes", "pids",     "files",
                                   "output", "wall",   "idle", "life",   "commands", "denials"};
constexpr std::array kPromoteKeys = {"allow", "deny", "read_only"};
constexpr std::array kStageKeys = {
    "name",     "verify", "apply",         "check",      "on_host",      "deploy",   "environment",
    "approval", "health", "cancel_window", "health_for", "health_every", "rollback", "affects"};
constexpr std::array kEnvironments = {"development", "staging", "production"};

class Reader : public TomlReader {
 public:
  using TomlReader::TomlReader;

  Result<ProjectFile> Read(std::string_view text) const {
    if (text.size() > kMostFileBytes)
      return Fail(Code::kInvalid, fmt::format("read {}: longer than 64 KiB", file()),
                  "it holds globs and command lines; put programs into files of their own");
    ASSIGN_OR_RETURN(const toml::table top, Parse(text, "docs/pipeline.md"));
    CLOCHE_TRY(CheckKeys(top, kTopKeys, "the file"));
    ProjectFile file;
    CLOCHE_TRY(Patterns(top, file.promote));
    CLOCHE_TRY(Sandbox(top, file.sandbox));
    CLOCHE_TRY(Stages(top, file.stages));
    return file;
  }

  Result<SandboxDefaults> ReadSettings(std::string_view text) const {
    ASSIGN_OR_RETURN(const toml::table top, Parse(text, "docs/settings.md"));
    CLOCHE_TRY(CheckKeys(top, kSettingsKeys, "the file"));
    SandboxDefaults defaults;
    CLOCHE_TRY(Sandbox(top, defaults));
    return defaults;
  }

 private:
  Status OptionalList(const toml::table& table, const char* key,
                      std::optional<std::vector<std::string>>& out) const {
    if (table.get(key) == nullptr) return {};
    return List(table, key, kMostPatterns, out.emplace());
  }

  Status Sandbox(const toml::table& top, SandboxDefaults& out) const {
    const toml::node* node = top.get("sandbox");
    if (node == nullptr) return {};
    const toml::table* table = node->as_table();
    if (table == nullptr)
      return Complain(*node, "sandbox is not a table", "write [sandbox] and its keys below it");
    CLOCHE_TRY(CheckKeys(*table, kSandboxKeys, "sandbox"));
    CLOCHE_TRY(OptionalList(*table, "allow", out.allow));
    CLOCHE_TRY(OptionalList(*table, "secrets", out.secrets));
    CLOCHE_TRY(List(*table, "hide", kMostPatterns, out.hide));
    return LimitsOf(*table, out.limits);
  }

  // "512M" or a plain number, as on the command line.
  Status LimitsOf(const toml::table& table, Limits& out) const {
    const toml::node* node = table.get("limits");
    if (node == nullptr) return {};
    const toml::table* limits = node->as_table();
    if (limits == nullptr)
      return Complain(*node, "limits is not a table",
                      "write it like limits = { memory = \"2G\", wall = \"1h30m\" }");
    CLOCHE_TRY(CheckKeys(*limits, kLimitKeys, "limits"));
    nlohmann::json all = nlohmann::json::object();
    for (const auto& [key, value] : *limits) {
      const std::string name(key.str());
      const auto parsed = ParseLimitText(name, Written(value));
      if (!parsed)
        return Complain(value, name + ": " + parsed.error().message, parsed.error().cure);
      // Parsed alone, so that an error names the line.
      if (const auto one = ParseLimits({{name, *parsed}}); !one)
        return Complain(value, one.error().message, one.error().cure);
      all[name] = *parsed;
    }
    ASSIGN_OR_RETURN(out, ParseLimits(all));
    return {};
  }

  static std::string Written(const toml::node& value) {
    if (const auto* text = value.as_string()) return text->get();
    if (const auto* integer = value.as_integer()) return fmt::format("{}", integer->get());
    if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
    return "";
  }

  Status Text(const toml::table& table, const char* key, std::string& out) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    ASSIGN_OR_RETURN(out, Words(*node, key));
    return {};
  }

  Status Seconds(const toml::table& table, const char* key, double least, double& out) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    std::optional<double> seconds;
    if (const auto* whole = node->as_integer()) seconds = static_cast<double>(whole->get());
    if (const auto* number = node->as_floating_point()) seconds = number->get();
    if (const auto* text = node->as_string())
      if (const auto parsed = ParseDuration(text->get())) seconds = *parsed;
    // Negated, so that NaN fails, too.
    if (!seconds || !(*seconds >= least && *seconds <= kMostSeconds))
      return Complain(*node,
                      fmt::format("{} is not a number of seconds from {} to {}", key, least,
                                  static_cast<int>(kMostSeconds)),
                      fmt::format("write it like {} = 60, or {} = \"1h30m\"", key, key));
    out = *seconds;
    return {};
  }

  Status Patterns(const toml::table& top, PathPatterns& out) const {
    const toml::node* node = top.get("promote");
    if (node == nullptr) return {};
    const toml::table* table = node->as_table();
    if (table == nullptr)
      return Complain(*node, "promote is not a table", "write [promote] and the globs below it");
    CLOCHE_TRY(CheckKeys(*table, kPromoteKeys, "promote"));
    CLOCHE_TRY(List(*table, "allow", kMostPatterns, out.allow));
    if (table->get("allow") != nullptr && out.allow.empty())
      return Complain(*table->get("allow"), "allow is empty",
                      "name what may be promoted, or leave it out: then everything may");
    CLOCHE_TRY(List(*table, "deny", kMostPatterns, out.deny));
    return List(*table, "read_only", kMostPatterns, out.read_only);
  }

  Status Stages(const toml::table& top, std::vector<Stage>& out) const {
    const toml::node* node = top.get("stage");
    if (node == nullptr) return {};
    const toml::array* list = node->as_array();
    if (list == nullptr)
      return Complain(*node, "stage is not a list of tables", "write [[stage]], with two brackets");
    if (list->size() > kMostStages)
      return Complain(*node, fmt::format("more than {} stages", kMostStages), "give fewer");
    std::set<std::string> names;
    for (const toml::node& each : *list) {
      const toml::table* table = each.as_table();
      if (table == nullptr)
        return Complain(each, "stage is not a list of tables",
                        "write [[stage]], with two brackets");
      ASSIGN_OR_RETURN(Stage stage, OneStage(*table));
      if (!names.insert(stage.name).second)
        return Complain(each, fmt::format("there is a stage {} already", stage.name),
                        "give each a name of its own");
      out.push_back(std::move(stage));
    }
    return {};
  }

  Result<Stage> OneStage(const toml::table& table) const {
    CLOCHE_TRY(CheckKeys(table, kStageKeys, "a stage"));
    Stage stage;
    CLOCHE_TRY(Text(table, "name", stage.name));
    if (!IsValidSandboxName(stage.name))
      return Complain(table,
                      stage.name.empty()
                          ? "a stage has no name"
                          : fmt::format("'{}' cannot be the name of a stage", stage.name),
                      "use 1 to 63 of a-z, 0-9 and -, beginning with a letter");
    CLOCHE_TRY(List(table, "verify", kMostCommands, stage.verify));
    CLOCHE_TRY(List(table, "check", kMostCommands, stage.check));
    CLOCHE_TRY(List(table, "health", kMostCommands, stage.health));
    CLOCHE_TRY(Bool(table, "on_host", stage.on_host));
    CLOCHE_TRY(Text(table, "deploy", stage.deploy));
    CLOCHE_TRY(Text(table, "environment", stage.environment));
    CLOCHE_TRY(Text(table, "rollback", stage.rollback));
    CLOCHE_TRY(Text(table, "affects", stage.affects));
    CLOCHE_TRY(Seconds(table, "cancel_window", 0, stage.cancel_window));
    CLOCHE_TRY(Seconds(table, "health_for", 0, stage.health_for));
    CLOCHE_TRY(Seconds(table, "health_every", 0.1, stage.health_every));
    CLOCHE_TRY(Apply(table, stage));
    CLOCHE_TRY(Tier(table, stage));
    CLOCHE_TRY(CheckSense(table, stage));
    return stage;
  }

  Status Apply(const toml::table& table, Stage& stage) const {
    const toml::node* node = table.get("apply");
    if (node == nullptr) return {};
    if (const auto* whether = node->as_boolean()) {
      if (whether->get()) stage.apply = "";
      return {};
    }
    ASSIGN_OR_RETURN(std::string directory, Words(*node, "apply"));
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
    const bool leads_up = directory == ".." || directory.starts_with("../") ||
                          directory.ends_with("/..") || directory.find("/../") != std::string::npos;
    if (leads_up || directory.starts_with('~'))
      return Complain(*node, fmt::format("apply = '{}' is not a plain path", directory),
                      "write a directory of the project, or an absolute path, without .. and ~");
    stage.apply = directory == "." ? "" : directory;
    return {};
  }

  // Two stages always need a person: one without a tier, and one for an unknown environment,
  // whatever its tier says.
  Status Tier(const toml::table& table, Stage& stage) const {
    std::string tier;
    CLOCHE_TRY(Text(table, "approval", tier));
    if (tier == "auto")
      stage.approval = Approval::kAuto;
    else if (tier == "notify")
      stage.approval = Approval::kNotify;
    else if (!tier.empty() && tier != "approve")
      return Complain(*table.get("approval"), fmt::format("approval = '{}' is unknown", tier),
                      "known here: auto, notify, approve");
    if (!stage.ChangesReality()) stage.approval = Approval::kAuto;  // nothing to approve
    if (!stage.deploy.empty() && !IsKnownEnvironment(stage.environment))
      stage.approval = Approval::kApprove;
    return {};
  }

  Status CheckSense(const toml::table& table, const Stage& stage) const {
    const auto without = [&](const char* key, const char* needed) -> Status {
      if (table.get(key) == nullptr) return {};
      return Complain(*table.get(key), fmt::format("{} has no meaning without {}", key, needed),
                      fmt::format("add {}, or leave {} out", needed, key));
    };
    if (stage.deploy.empty()) CLOCHE_TRY(without("environment", "deploy"));
    if (stage.deploy.empty()) CLOCHE_TRY(without("rollback", "deploy"));
    if (stage.health.empty()) CLOCHE_TRY(without("health_for", "health"));
    if (stage.health.empty()) CLOCHE_TRY(without("health_every", "health"));
    if (!stage.ChangesReality()) CLOCHE_TRY(without("health", "apply or deploy"));
    if (stage.verify.empty() && stage.check.empty() && !stage.ChangesReality())
      return Complain(table, fmt::format("stage {} does nothing", stage.name),
                      "give it verify, apply, check or deploy");
    return {};
  }
};

}  // namespace

const char* ApprovalName(Approval approval) {
  static constexpr const char* kNames[] = {"auto", "notify", "approve"};
  return kNames[static_cast<int>(approval)];
}

bool IsKnownEnvironment(std::string_view environment) {
  return std::ranges::find(kEnvironments, environment) != kEnvironments.end();
}

Result<ProjectFile> ReadProjectFile(std::string_view toml, const std::string& file) {
  return Reader(file).Read(toml);
}

Result<SandboxDefaults> ReadSettings(std::string_view toml, const std::string& file) {
  return Reader(file).ReadSettings(toml);
}

}  // namespace cloche::project
