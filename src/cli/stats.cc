#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <map>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/request.h"
#include "cli/signal_watch.h"

namespace cloche::cli {
namespace {

constexpr int kFirstLookMs = 250;  // CPU is a difference between two looks
constexpr int kNextLookMs = 1000;

struct Look {
  double at_ms = 0;
  std::map<std::string, double> cpu_s;  // by id
};

Result<Json> ReadUsage(const std::vector<std::string>& refs) {
  Json all = Json::array();
  std::vector<std::string> wanted = refs;
  if (refs.empty()) {
    ASSIGN_OR_RETURN(const Json listed, Call("GET", "/v1/sandboxes"));
    for (const Json& each : listed) wanted.push_back(Text(each, "id"));
  }
  for (const std::string& ref : wanted) {
    ASSIGN_OR_RETURN(const std::string target, SandboxTarget(ref, "/usage"));
    auto usage = Call("GET", target);
    if (!usage && refs.empty() && usage.error().code == Code::kNotFound) continue;  // just gone
    if (!usage) return std::unexpected(usage.error());
    all.push_back(*std::move(usage));
  }
  return all;
}

// Adds `cpu_percent`, of one CPU, since the last reading.
void AddPercent(Json& all, Look& before) {
  Look now{SinceStartMs(), {}};
  for (Json& each : all) {
    const Json& spent = Field(each, "cpu_s");
    if (!spent.is_number()) continue;
    const std::string id = Text(each, "id");
    now.cpu_s[id] = spent.get<double>();
    const auto found = before.cpu_s.find(id);
    if (found == before.cpu_s.end() || now.at_ms <= before.at_ms) continue;
    const double share = (now.cpu_s[id] - found->second) / (now.at_ms - before.at_ms) * 1e5;
    each["cpu_percent"] = std::max(0.0, share);
  }
  before = std::move(now);
}

std::string Bytes(const Json& each, const char* key, const char* limit) {
  const Json& used = Field(each, key);
  if (!used.is_number()) return "-";
  const double most = Number(Field(each, "limits"), limit);
  const std::string text = FormatBytes(static_cast<uint64_t>(used.get<double>()));
  return most > 0 ? text + " / " + FormatBytes(static_cast<uint64_t>(most)) : text;
}

std::string StatsTable(const Json& all, bool colour) {
  Table table({"ID", "NAME", "STATE", "CPU", "CPU TIME", "MEMORY", "DISK", "PROCESSES"});
  for (const size_t column : {3u, 4u, 5u, 6u, 7u}) table.AlignRight(column);
  const auto number = [](const Json& each, const char* key, auto format) {
    const Json& value = Field(each, key);
    return value.is_number() ? format(value.get<double>()) : std::string("-");
  };
  for (const Json& each : all) {
    const std::string name = Text(each, "name");
    table.AddRow(
        {Text(each, "id"), name.empty() ? "-" : name, Text(each, "state"),
         number(each, "cpu_percent", [](double share) { return fmt::format("{:.0f} %", share); }),
         number(each, "cpu_s", [](double spent) { return fmt::format("{:.2f} s", spent); }),
         Bytes(each, "memory_bytes", "memory"), Bytes(each, "disk_bytes", "disk"),
         number(each, "pids", [](double count) { return fmt::format("{:.0f}", count); })});
  }
  return table.Render(colour);
}

void Show(const Json& all, bool json, bool again) {
  if (json) {
    WriteJson(JsonText(all) + "\n");
    return;
  }
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  // Clears the old table from the top first.
  WriteAll(STDOUT_FILENO, (again && terminal ? "\x1b[H\x1b[J" : "") +
                              StatsTable(all, ColourWanted(STDOUT_FILENO)) +
                              (terminal ? "" : "\n"));
}

}  // namespace

int Stats(Arguments arguments) {
  bool json = false, once = false, follow = false;
  std::vector<std::string> refs;
  CLI::App app(
      "Shows what sandboxes use: on a terminal every second until Ctrl-C, otherwise once. CPU is "
      "of "
      "one CPU; what nobody counts here is a dash.",
      "cloche stats");
  app.add_option("SANDBOX", refs, "ids, unique prefixes of them, or names; default: all");
  auto* no_stream = app.add_flag("--no-stream", once, "once, then end");
  app.add_flag("--follow,-f", follow, "every second, wherever the output goes")
      ->excludes(no_stream);
  AddJsonFlag(app, json)->description("print a list in JSON on standard output, a line each time");
  if (auto status = Parse(app, "[SANDBOX...]", arguments)) return *status;
  // A script that reads our output must not wait for ever.
  once = once || (!follow && (json || isatty(STDOUT_FILENO) != 1));
  const SignalWatch signals;
  Look before;
  for (int round = 0;; ++round) {
    auto usage = ReadUsage(refs);
    if (!usage) return PrintError(usage.error(), json);
    AddPercent(*usage, before);
    if (round > 0) Show(*usage, json, !once);
    if (once && round > 0) return 0;
    // It ends by Ctrl-C, or when nobody reads any more.
    pollfd waits[] = {{signals.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    if (poll(waits, 2, round == 0 ? kFirstLookMs : kNextLookMs) > 0) {
      (void)signals.Take();
      return 0;
    }
  }
}

}  // namespace cloche::cli
