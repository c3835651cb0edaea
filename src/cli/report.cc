#include "cli/report.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/error_json.h"
#include "base/text.h"

namespace cloche::cli {
namespace {

std::string Line(const std::string& text) { return "cloche: " + EscapeForTerminal(text) + "\n"; }

std::string DescribeDroppedOutput(const Json& output) {
  const double dropped = Number(output, "dropped_bytes");
  if (dropped <= 0) return "";
  std::string text = fmt::format("{} of output dropped, beginning and end ({}) kept",
                                 FormatBytes(static_cast<uint64_t>(dropped)),
                                 FormatBytes(static_cast<uint64_t>(Number(output, "kept_bytes"))));
  if (const std::string log = Text(output, "log"); !log.empty()) text += "; log: " + log;
  return Line(text);
}

std::string DescribeFate(const Json& result) {
  const std::string changes = DescribeChanges(Field(result, "changes"));
  if (Flag(Field(result, "changes"), "kept")) {
    const std::string name = Text(result, "name");
    const std::string sandbox = name.empty() ? Text(result, "sandbox") : name;
    return Line(fmt::format("kept as {}{}{}; go on with: cloche exec {} -- CMD", sandbox,
                            changes.empty() ? "" : ", ", changes, sandbox));
  }
  return changes.empty() ? "" : Line(changes + "; discarded (keep with --keep)");
}

}  // namespace

std::string DescribeChanges(const Json& changes) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kKinds = {
      {{"added", "added"}, {"changed", "changed"}, {"deleted", "deleted"}}};
  std::string text;
  for (const auto& [key, word] : kKinds) {
    const auto count = static_cast<uint64_t>(Number(changes, key));
    if (count == 0) continue;
    const char* noun = count == 1 ? " file" : " files";
    text +=
        fmt::format("{}{}{} {}", text.empty() ? "" : ", ", count, text.empty() ? noun : "", word);
  }
  return text;
}

std::string DescribeResult(const Json& result, AfterCommand after, bool quiet, bool colour) {
  std::string text;
  if (const Json& error = Field(result, "error"); error.is_object())
    text += DescribeError(ErrorFromJson(error), colour);
  if (const std::string limit = Text(Field(result, "limit"), "message"); !limit.empty())
    text += DescribeError({Code::kExhausted, limit, ""}, colour);
  if (quiet) return text;
  std::string remarks = DescribeDroppedOutput(Field(result, "output"));
  if (after == AfterCommand::kDiscarded) remarks += DescribeFate(result);
  return remarks.empty() ? text : text + Coloured(colour, "2", remarks);
}

std::string TimingTable(const Json& result, const ClientTiming& client) {
  Table table({"STEP", "MS"});
  table.AlignRight(1);
  const auto row = [&table](const std::string& step, double ms) {
    table.AddRow({step, fmt::format("{:.3f}", ms)});
  };
  row("cloche: start to connect", client.connected_ms);
  const Json& steps = Field(result, "timing");
  if (steps.is_object())
    for (const auto& [step, ms] : steps.items())
      if (ms.is_number()) row("  " + step, ms.get<double>());
  row("cloche: connect to first frame", client.first_frame_ms - client.connected_ms);
  row("cloche: total", client.total_ms);
  return table.Render(false, "  ");
}

void AddClientTiming(Json& result, const ClientTiming& client) {
  result["client_timing"] = {
      {"start_to_connect", client.connected_ms},
      {"connect_to_first_frame", client.first_frame_ms - client.connected_ms},
      {"total", client.total_ms}};
}

}  // namespace cloche::cli
