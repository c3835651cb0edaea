#include "report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace cloche::bench {
namespace {

std::string Describe(const Series& series) {
  return fmt::format("{:.2f} ms (p90 {:.2f})", series.Median(), series.P90());
}

const char* Word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kReported:
      break;
  }
  return "-";
}

nlohmann::ordered_json Numbers(const Series& series) {
  return {{"median_ms", series.Median()}, {"p90_ms", series.P90()}, {"count", series.size()}};
}

}  // namespace

void Report::Compare(const std::string& promise, const Series& ours, const std::string& peer_name,
                     const Series& peer, std::optional<double> bound) {
  Row row{.promise = promise};
  row.measured = fmt::format("{}, {} {}", Describe(ours), peer_name, Describe(peer));
  row.ratio = ours.Median() / peer.Median();
  if (bound) {
    row.promised = fmt::format("<= {:.2f}x", *bound);
    row.verdict = *row.ratio <= *bound ? Verdict::kOk : Verdict::kMissed;
  }
  row.numbers = {{"ours", Numbers(ours)}, {peer_name, Numbers(peer)}};
  Add(std::move(row));
}

void Report::Limit(const std::string& promise, double value, const std::string& unit,
                   double below) {
  Row row{.promise = promise};
  row.measured = fmt::format("{:.2f} {}", value, unit);
  row.promised = fmt::format("< {:g} {}", below, unit);
  row.verdict = value < below ? Verdict::kOk : Verdict::kMissed;
  row.numbers = {{"value", value}, {"unit", unit}};
  Add(std::move(row));
}

void Report::Tell(const std::string& promise, const std::string& measured) {
  Add({.promise = promise, .measured = measured});
}

void Report::Tell(const std::string& promise, const Series& series) {
  Add({.promise = promise, .measured = Describe(series), .numbers = Numbers(series)});
}

std::string Report::Table() const {
  std::vector<std::array<std::string, 5>> lines = {
      {"PROMISE", "MEASURED", "RATIO", "PROMISED", "RESULT"}};
  for (const Row& row : rows_)
    lines.push_back({row.promise, row.measured, row.ratio ? fmt::format("{:.2f}x", *row.ratio) : "",
                     row.promised, Word(row.verdict)});
  std::array<size_t, 5> widths{};
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string table;
  for (const auto& line : lines)
    table += fmt::format("{:<{}}  {:<{}}  {:>{}}  {:<{}}  {}\n", line[0], widths[0], line[1],
                         widths[1], line[2], widths[2], line[3], widths[3], line[4]);
  return table;
}

nlohmann::ordered_json Report::ToJson() const {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json entry = {{"promise", row.promise}, {"measured", row.measured}};
    if (row.ratio) entry["ratio"] = *row.ratio;
    if (!row.promised.empty()) entry["promised"] = row.promised;
    entry["result"] = row.verdict == Verdict::kReported ? "reported" : Word(row.verdict);
    if (!row.numbers.is_null()) entry["numbers"] = row.numbers;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace cloche::bench
