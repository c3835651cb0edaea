#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "series.h"

namespace cloche::bench {

enum class Verdict { kOk, kMissed, kReported };

struct Row {
  std::string promise = {};
  std::string measured = {};
  std::optional<double> ratio = {};
  std::string promised = {};
  Verdict verdict = Verdict::kReported;
  nlohmann::ordered_json numbers = {};
};

class Report {
 public:
  void Add(Row row) { rows_.push_back(std::move(row)); }
  // `bound` is the largest ratio promised; without one the line is only reported.
  void Compare(const std::string& promise, const Series& ours, const std::string& peer_name,
               const Series& peer, std::optional<double> bound = {});
  void Limit(const std::string& promise, double value, const std::string& unit, double below);
  void Tell(const std::string& promise, const std::string& measured);
  void Tell(const std::string& promise, const Series& series);

  std::string Table() const;
  nlohmann::ordered_json ToJson() const;

 private:
  std::vector<Row> rows_;
};

}  // namespace cloche::bench
