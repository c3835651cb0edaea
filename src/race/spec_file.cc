#include <utility>

#include "base/toml_reader.h"
#include "race/spec.h"

namespace cloche::race {
namespace {

constexpr size_t kMostCommands = 1000;
constexpr std::array kTopKeys = {"setup",      "check",   "score",  "jobs",
                                 "first_pass", "best_of", "limits", "lane"};
constexpr std::array kScoreKeys = {"command", "key", "lower_is_better"};
constexpr std::array kLaneKeys = {"run", "copies", "limits"};
constexpr std::array kLimitKeys = {"cpu",    "memory", "disk", "inodes", "pids",     "files",
                                   "output", "wall",   "idle", "life",   "commands", "denials"};

class Reader : public TomlReader {
 public:
  using TomlReader::TomlReader;

  Result<Spec> Read(std::string_view text) {
    if (text.size() > kMostFileBytes)
      return Fail(Code::kInvalid, fmt::format("read {}: longer than 1 MiB", file()),
                  "a race file holds command lines; put programs into files of their own");
    ASSIGN_OR_RETURN(const toml::table top, Parse(text, "docs/race.md"));
    CLOCHE_TRY(CheckKeys(top, kTopKeys, "the file"));
    Spec spec;
    CLOCHE_TRY(Commands(top, "setup", spec.setup));
    CLOCHE_TRY(Commands(top, "check", spec.checks));
    CLOCHE_TRY(Score(top, spec));
    std::optional<size_t> best_of;
    CLOCHE_TRY(Count(top, "jobs", spec.jobs));
    CLOCHE_TRY(Count(top, "best_of", best_of));
    CLOCHE_TRY(Enough(top, best_of, spec));
    CLOCHE_TRY(ReadLimits(top, "limits", spec.limits));
    CLOCHE_TRY(Lanes(top, spec));
    return spec;
  }

 private:
  Status Commands(const toml::table& table, const char* key, std::vector<Command>& out) const {
    std::vector<std::string> lines;
    CLOCHE_TRY(List(table, key, kMostCommands, lines));
    for (std::string& line : lines) out.push_back(ShellCommand(std::move(line)));
    return {};
  }

  Status Count(const toml::table& table, const char* key, std::optional<size_t>& out) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const auto* value = node->as_integer();
    if (value == nullptr || value->get() < 1 || value->get() > static_cast<int64_t>(kMostLanes))
      return Complain(*node, fmt::format("{} is not a number from 1 to {}", key, kMostLanes),
                      fmt::format("write it like {} = 2", key));
    out = static_cast<size_t>(value->get());
    return {};
  }

  Status Enough(const toml::table& top, std::optional<size_t> best_of, Spec& spec) const {
    bool first_pass = false;
    CLOCHE_TRY(Bool(top, "first_pass", first_pass));
    if (first_pass && best_of)
      return Complain(*top.get("first_pass"), "first_pass and best_of: give one of them",
                      "first_pass = true is best_of = 1");
    spec.enough = first_pass ? 1 : best_of.value_or(0);
    return {};
  }

  // A command line, or a table with one.
  Status Score(const toml::table& top, Spec& spec) const {
    const toml::node* node = top.get("score");
    if (node == nullptr) return {};
    const toml::table* table = node->as_table();
    ScoreRule rule;
    if (table == nullptr) {
      ASSIGN_OR_RETURN(std::string text, Words(*node, "score"));
      rule.command = ShellCommand(std::move(text));
    } else {
      CLOCHE_TRY(CheckKeys(*table, kScoreKeys, "score"));
      const toml::node* command = table->get("command");
      if (command == nullptr)
        return Complain(*node, "score has no command", "add command = '...', which prints it");
      ASSIGN_OR_RETURN(std::string text, Words(*command, "score.command"));
      rule.command = ShellCommand(std::move(text));
      if (const toml::node* key = table->get("key")) {
        ASSIGN_OR_RETURN(rule.key, Words(*key, "score.key"));
      }
      CLOCHE_TRY(Bool(*table, "lower_is_better", rule.lower_is_better));
    }
    spec.score = std::move(rule);
    return {};
  }

  // "512M" or a plain number, as on the command line.
  Status ReadLimits(const toml::table& table, const char* key, Limits& out) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const toml::table* limits = node->as_table();
    if (limits == nullptr)
      return Complain(*node, fmt::format("{} is not a table", key), "write it like [limits]");
    CLOCHE_TRY(CheckKeys(*limits, kLimitKeys, "limits"));
    nlohmann::json all = nlohmann::json::object();
    for (const auto& [key_of_limit, value] : *limits) {
      const std::string name(key_of_limit.str());
      const auto parsed = ParseLimitText(name, Written(value));
      if (!parsed)
        return Complain(value, name + ": " + parsed.error().message, parsed.error().cure);
      // Alone, so that a value out of range is reported with its line.
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

  Status Lanes(const toml::table& top, Spec& spec) const {
    const toml::node* node = top.get("lane");
    if (node == nullptr) return {};
    const toml::table* table = node->as_table();
    if (table == nullptr)
      return Complain(*node, "lane is not a table", "write [lane.NAME] and run = '...' below it");
    // In the order of the file; a TOML table has none.
    std::vector<std::pair<const toml::key*, const toml::node*>> lanes;
    for (const auto& [key, value] : *table) lanes.emplace_back(&key, &value);
    std::ranges::sort(lanes, [](const auto& a, const auto& b) {
      const auto begin_a = a.first->source().begin;
      const auto begin_b = b.first->source().begin;
      return std::pair(begin_a.line, begin_a.column) < std::pair(begin_b.line, begin_b.column);
    });
    for (const auto& [key, value] : lanes) CLOCHE_TRY(OneLane(*key, *value, spec));
    return {};
  }

  Status OneLane(const toml::key& key, const toml::node& node, Spec& spec) const {
    const size_t line = key.source().begin.line;
    Lane lane{std::string(key.str()), {}, {}};
    if (auto named = CheckLaneName(lane.name); !named)
      return Complain(line, named.error().message, named.error().cure);
    const toml::table* table = node.as_table();
    if (table == nullptr)
      return Complain(line, fmt::format("lane {} is not a table", lane.name),
                      fmt::format("write [lane.{}] and run = '...' below it", lane.name));
    CLOCHE_TRY(CheckKeys(*table, kLaneKeys, "lane " + lane.name));
    const toml::node* run = table->get("run");
    if (run == nullptr)
      return Complain(line, fmt::format("lane {} has no run", lane.name),
                      "add run = '...', the command of this approach");
    ASSIGN_OR_RETURN(std::string text, Words(*run, "run"));
    lane.run = ShellCommand(std::move(text));
    CLOCHE_TRY(ReadLimits(*table, "limits", lane.limits));
    std::optional<size_t> copies;
    CLOCHE_TRY(Count(*table, "copies", copies));
    if (copies) {
      std::ranges::move(Copies(lane, *copies), std::back_inserter(spec.lanes));
    } else {
      spec.lanes.push_back(std::move(lane));
    }
    return {};
  }
};

}  // namespace

Result<Spec> ReadSpec(std::string_view toml, const std::string& file) {
  return Reader(file).Read(toml);
}

}  // namespace cloche::race
