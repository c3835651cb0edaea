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
  return {{"best_ms", series.Best()},
          {"median_ms", series.Median()},
          {"p90_ms", series.P90()},
          {"count", series.size()}};
}

}  // namespace

void Report::AddRatio(Row row, double ratio, std::optional<double> bound) {
  row.ratio = ratio;
  if (bound) {
    row.promised = fmt::format("<= {:.2f}x", *bound);
    row.verdict = ratio <= *bound ? Verdict::kOk : Verdict::kMissed;
  }
  Add(std::move(row));
}

void Report::Compare(const std::string& id, const std::string& promise, const Series& ours,
                     const std::string& peer_name, const Series& peer,
                     std::optional<double> bound) {
  AddRatio({.id = id,
            .promise = promise,
            .measured = fmt::format("{}, {} {}", Describe(ours), peer_name, Describe(peer)),
            .numbers = {{"ours", Numbers(ours)},
                        {"peer", Numbers(peer)},
                        {"peer_name", peer_name},
                        {"statistic", "median_ms"}}},
           ours.Median() / peer.Median(), bound);
}

void Report::CompareBest(const std::string& id, const std::string& promise, const Series& ours,
                         const std::string& peer_name, const Series& peer, double bound) {
  AddRatio(
      {.id = id,
       .promise = promise,
       .measured = fmt::format("best {:.2f} ms (median {:.2f}), {} {:.2f} ms (median {:.2f})",
                               ours.Best(), ours.Median(), peer_name, peer.Best(), peer.Median()),
       .numbers = {{"ours", Numbers(ours)},
                   {"peer", Numbers(peer)},
                   {"peer_name", peer_name},
                   {"statistic", "best_ms"}}},
      ours.Best() / peer.Best(), bound);
}

void Report::Limit(const std::string& id, const std::string& promise, double value,
                   const std::string& unit, double below) {
  Row row{.id = id, .promise = promise};
  row.measured = fmt::format("{:.2f} {}", value, unit);
  row.promised = fmt::format("< {:g} {}", below, unit);
  row.verdict = value < below ? Verdict::kOk : Verdict::kMissed;
  row.numbers = {{"value", value}, {"unit", unit}};
  Add(std::move(row));
}

void Report::Tell(const std::string& id, const std::string& promise, const std::string& measured) {
  Add({.id = id, .promise = promise, .measured = measured});
}

void Report::Tell(const std::string& id, const std::string& promise, const Series& series) {
  Add({.id = id, .promise = promise, .measured = Describe(series), .numbers = Numbers(series)});
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
    nlohmann::ordered_json entry = {
        {"id", row.id}, {"promise", row.promise}, {"measured", row.measured}};
    if (row.ratio) entry["ratio"] = *row.ratio;
    if (!row.promised.empty()) entry["promised"] = row.promised;
    entry["result"] = row.verdict == Verdict::kReported ? "reported" : Word(row.verdict);
    if (!row.numbers.is_null()) entry["numbers"] = row.numbers;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace cloche::bench
