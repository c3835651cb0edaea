#include "probe/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace cloche::probe {
namespace {

struct Style {
  const char* word;
  const char* json;
  const char* colour;
};

Style StyleOf(Mark mark) {
  switch (mark) {
    case Mark::kHeld:
      return {"held", "held", "\033[32m"};
    case Mark::kBroken:
      return {"BROKEN", "broken", "\033[1;31m"};
    case Mark::kNoControl:
      return {"no control", "no_control", "\033[31m"};
    case Mark::kError:
      return {"did not run", "error", "\033[31m"};
    case Mark::kNotHere:
      return {"not here", "not_here", "\033[33m"};
    case Mark::kNotProbed:
      return {"not probed", "not_probed", "\033[2m"};
  }
  return {"", "", ""};
}

std::string Pad(const std::string& text, size_t width) {
  const size_t now = DisplayWidth(text);
  return text + std::string(width > now ? width - now : 0, ' ');
}

}  // namespace

void PrintTable(const std::vector<Row>& rows, const std::string& mode, bool colour) {
  constexpr size_t kIdWidth = 7, kMarkWidth = 11;
  size_t attempt_width = 0;
  for (const Row& row : rows)
    attempt_width = std::max(attempt_width, DisplayWidth(std::string(row.probe->attempt)));
  std::string_view promise;
  std::map<Mark, int> count;
  for (const Row& row : rows) {
    if (row.promise != promise) {
      promise = row.promise;
      fmt::print("{}{}{}{}\n", count.empty() ? "" : "\n", colour ? "\033[1m" : "", promise,
                 colour ? "\033[0m" : "");
    }
    ++count[row.outcome.mark];
    const Style style = StyleOf(row.outcome.mark);
    std::string line = fmt::format("  {} {}  {}{}{}  {}", Pad(std::string(row.probe->id), kIdWidth),
                                   Pad(std::string(row.probe->attempt), attempt_width),
                                   colour ? style.colour : "", Pad(style.word, kMarkWidth),
                                   colour ? "\033[0m" : "", EscapeForTerminal(row.outcome.detail));
    while (line.ends_with(' ')) line.pop_back();
    fmt::print("{}\n", line);
  }
  std::string summary;
  for (const auto& [mark, number] : count)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", number, StyleOf(mark).word);
  fmt::print("\n{} mode: {}\n", mode, summary);
}

void PrintJson(const std::vector<Row>& rows, const std::string& mode) {
  nlohmann::json probes = nlohmann::json::array();
  bool failed = false;
  for (const Row& row : rows) {
    failed |= row.outcome.Fails();
    probes.push_back({{"id", row.probe->id},
                      {"promise", row.promise},
                      {"probe", row.probe->attempt},
                      {"result", StyleOf(row.outcome.mark).json},
                      {"detail", row.outcome.detail}});
  }
  const nlohmann::json all = {
      {"id", "probe"}, {"mode", mode}, {"passed", !failed}, {"probes", std::move(probes)}};
  fmt::print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace cloche::probe
