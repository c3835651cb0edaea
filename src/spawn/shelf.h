#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "spawn/sandbox.h"
#include "spawn/workshop.h"

namespace cloche::spawn {

// Prepared sandboxes, by spec. What was asked for lately is kept in stock; a change of the host's
// mounts throws everything away.
class Shelf {
 public:
  // A prepared sandbox of this spec, if there is one whose mask is still right. Unusable ones are
  // handed to `dispose`.
  template <typename Dispose>
  std::optional<Sandbox> Take(const std::string& key, const LaunchPlan& plan, Dispose dispose) {
    Row& row = rows_[key];
    row.spec = plan.spec;
    row.limits = plan.limits;
    row.used = ++clock_;
    while (!row.stock.empty()) {
      Sandbox sandbox = std::move(row.stock.front());
      row.stock.pop_front();
      if (sandbox.mask->UpToDate()) return sandbox;
      dispose(std::move(sandbox));
    }
    return std::nullopt;
  }

  template <typename Dispose>
  void Clear(Dispose dispose) {
    for (auto& [key, row] : rows_) {
      while (!row.stock.empty()) {
        dispose(std::move(row.stock.front()));
        row.stock.pop_front();
      }
    }
  }

  // The most recently used spec that is short of stock; specs beyond kRows are given up.
  template <typename Dispose>
  std::optional<std::pair<std::string, SandboxSpec>> NextToPrepare(Dispose dispose) {
    while (rows_.size() > kRows) {
      auto oldest = rows_.begin();
      for (auto it = rows_.begin(); it != rows_.end(); ++it)
        if (it->second.used < oldest->second.used) oldest = it;
      for (Sandbox& sandbox : oldest->second.stock) dispose(std::move(sandbox));
      rows_.erase(oldest);
    }
    const std::pair<const std::string, Row>* best = nullptr;
    for (const auto& entry : rows_)
      if (entry.second.stock.size() < kStock && !entry.second.broken &&
          (!best || entry.second.used > best->second.used))
        best = &entry;
    if (!best) return std::nullopt;
    return std::pair{best->first, best->second.spec};
  }

  // What was asked for last with this spec is likely to be asked for again.
  KernelLimits LimitsOf(const std::string& key) { return rows_[key].limits; }
  void Put(const std::string& key, Sandbox sandbox) {
    rows_[key].stock.push_back(std::move(sandbox));
  }
  // Preparing failed: the next launch reports why, and no more are tried until one works.
  void MarkBroken(const std::string& key, bool broken) { rows_[key].broken = broken; }
  size_t size() const {
    size_t count = 0;
    for (const auto& [key, row] : rows_) count += row.stock.size();
    return count;
  }

 private:
  static constexpr size_t kRows = 4;
  static constexpr size_t kStock = 6;
  struct Row {
    SandboxSpec spec;
    KernelLimits limits;
    std::deque<Sandbox> stock;
    uint64_t used = 0;
    bool broken = false;
  };
  std::map<std::string, Row> rows_;
  uint64_t clock_ = 0;
};

}  // namespace cloche::spawn
