#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "series.h"

namespace cloche::bench {

enum class Verdict { kOk, kMissed, kReported };

struct Row {
  std::string id = {};  // PART.NAME, the key of its line in SPEC.md
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
  void Compare(const std::string& id, const std::string& promise, const Series& ours,
               const std::string& peer_name, const Series& peer, std::optional<double> bound = {});
  // The same with the fastest round of each: for what takes milliseconds and passes through several
  // processes, where a median says how busy the machine is.
  void CompareBest(const std::string& id, const std::string& promise, const Series& ours,
                   const std::string& peer_name, const Series& peer, double bound);
  void Limit(const std::string& id, const std::string& promise, double value,
             const std::string& unit, double below);
  void Tell(const std::string& id, const std::string& promise, const std::string& measured);
  void Tell(const std::string& id, const std::string& promise, const Series& series);

  std::string Table() const;
  nlohmann::ordered_json ToJson() const;

 private:
  void AddRatio(Row row, double ratio, std::optional<double> bound);

  std::vector<Row> rows_;
};

}  // namespace cloche::bench
