#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "spawn/sandbox.h"
#include "spawn/workshop.h"
#include "sys/file.h"

namespace cloche::spawn {

// Prepared sandboxes, by spec. Recently used specs are kept in stock, more of them the more often
// they ran out; a change of the host's mounts discards everything.
class Shelf {
 public:
  // A prepared sandbox of this spec, if there is one whose mask is current and whose sources are
  // what the caller would be given now. Passes unusable ones to `dispose`.
  template <typename Dispose>
  std::optional<Sandbox> Take(const std::string& key, const LaunchPlan& plan, Dispose dispose) {
    Row& row = rows_[key];
    const bool known = row.used != 0;
    row.spec = plan.spec;
    row.limits = plan.limits;
    row.used = sys::MonotonicMicros();
    while (!row.stock.empty()) {
      Sandbox sandbox = std::move(row.stock.front());
      row.stock.pop_front();
      if (sandbox.mask->UpToDate() && SourcesAreTheSame(plan.spec, sandbox.sources)) return sandbox;
      dispose(std::move(sandbox));
    }
    if (known) row.wanted = std::min(2 * row.wanted, kMostStock);
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

  // Gives up specs beyond kRows, and stock that only a busy period needed.
  template <typename Dispose>
  void Trim(Dispose dispose) {
    while (rows_.size() > kRows) {
      auto oldest = rows_.begin();
      for (auto it = rows_.begin(); it != rows_.end(); ++it)
        if (it->second.used < oldest->second.used) oldest = it;
      for (Sandbox& sandbox : oldest->second.stock) dispose(std::move(sandbox));
      rows_.erase(oldest);
    }
    uint64_t now = sys::MonotonicMicros();
    for (auto& [key, row] : rows_) {
      if (now - row.used < kQuietMicros) continue;
      row.wanted = kLeastStock;
      for (; row.stock.size() > row.wanted; row.stock.pop_back())
        dispose(std::move(row.stock.back()));
    }
  }

  // The most recently used spec that is short of stock.
  struct Need {
    std::string key;
    SandboxSpec spec;
    size_t left = 0;  // in stock or on their way
  };
  std::optional<Need> NextToPrepare() const {
    const std::pair<const std::string, Row>* best = nullptr;
    for (const auto& entry : rows_)
      if (entry.second.left() < entry.second.wanted && !entry.second.broken &&
          (!best || entry.second.used > best->second.used))
        best = &entry;
    if (!best) return std::nullopt;
    return Need{best->first, best->second.spec, best->second.left()};
  }

  // The limits last requested with this spec are likely to be requested again.
  KernelLimits LimitsOf(const std::string& key) { return rows_[key].limits; }
  void Expect(const std::string& key) { ++rows_[key].coming; }
  void Arrived(const std::string& key) {  // or failed
    if (Row& row = rows_[key]; row.coming > 0) --row.coming;
  }
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
  static constexpr size_t kLeastStock = 6, kMostStock = 32;
  static constexpr uint64_t kQuietMicros = 10'000'000;
  struct Row {
    SandboxSpec spec;
    KernelLimits limits;
    std::deque<Sandbox> stock;
    size_t coming = 0;
    size_t wanted = kLeastStock;
    uint64_t used = 0;
    bool broken = false;
    size_t left() const { return stock.size() + coming; }
  };
  std::map<std::string, Row> rows_;
};

}  // namespace cloche::spawn
