#include "change/model/myers.h"

#include <algorithm>
#include <cstddef>

namespace cloche::change {
namespace {

// After this many edits, the search settles for a good path instead of the best.
constexpr int64_t kManyEdits = 256;

struct Box {
  int64_t a_begin, a_end, b_begin, b_end;
};

struct Point {
  int64_t x, y;
};

class Search {
 public:
  Search(std::span<const uint32_t> a, std::span<const uint32_t> b, std::vector<bool>& changed_a,
         std::vector<bool>& changed_b, uint64_t& work)
      : a_(a),
        b_(b),
        changed_a_(changed_a),
        changed_b_(changed_b),
        work_(work),
        offset_(static_cast<int64_t>(b.size()) + 1),
        forward_(a.size() + b.size() + 3),
        backward_(a.size() + b.size() + 3) {}

  bool Run() {
    // Not recursive: a split that is merely good may leave nearly everything on one side.
    std::vector<Box> open = {
        {0, static_cast<int64_t>(a_.size()), 0, static_cast<int64_t>(b_.size())}};
    while (!open.empty()) {
      Box box = open.back();
      open.pop_back();
      Trim(box);
      if (box.a_begin == box.a_end || box.b_begin == box.b_end) {
        Mark(box);
        continue;
      }
      const Point split = Split(box);
      const bool smaller = split.x + split.y > box.a_begin + box.b_begin &&
                           split.x + split.y < box.a_end + box.b_end;
      if (exhausted_ || !smaller) {
        hurried_ = true;
        Mark(box);
        continue;
      }
      open.push_back({split.x, box.a_end, split.y, box.b_end});
      open.push_back({box.a_begin, split.x, box.b_begin, split.y});
    }
    return !hurried_;
  }

 private:
  bool Equal(int64_t x, int64_t y) const {
    return a_[static_cast<size_t>(x)] == b_[static_cast<size_t>(y)];
  }
  // Furthest x on the diagonal x - y = k.
  int32_t& Forward(int64_t k) { return forward_[static_cast<size_t>(k + offset_)]; }
  int32_t& Backward(int64_t k) { return backward_[static_cast<size_t>(k + offset_)]; }

  void Trim(Box& box) const {
    while (box.a_begin < box.a_end && box.b_begin < box.b_end && Equal(box.a_begin, box.b_begin))
      ++box.a_begin, ++box.b_begin;
    while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
           Equal(box.a_end - 1, box.b_end - 1))
      --box.a_end, --box.b_end;
  }

  void Mark(const Box& box) {
    std::fill(changed_a_.begin() + box.a_begin, changed_a_.begin() + box.a_end, true);
    std::fill(changed_b_.begin() + box.b_begin, changed_b_.begin() + box.b_end, true);
  }

  void Spend(int64_t steps) {
    const auto cost = static_cast<uint64_t>(steps);
    exhausted_ = exhausted_ || work_ < cost;
    work_ -= std::min(work_, cost);
    hurried_ = hurried_ || exhausted_;
  }

  // A point on a shortest path through the trimmed box that leaves two smaller boxes. Searches from
  // both ends until they meet.
  Point Split(const Box& box) {
    const int64_t low = box.a_begin - box.b_end;  // diagonals of the box: [low, high]
    const int64_t high = box.a_end - box.b_begin;
    const int64_t forward_mid = box.a_begin - box.b_begin;
    const int64_t backward_mid = box.a_end - box.b_end;
    const bool odd = ((forward_mid - backward_mid) & 1) != 0;
    int64_t forward_low = forward_mid, forward_high = forward_mid;
    int64_t backward_low = backward_mid, backward_high = backward_mid;
    Forward(forward_mid) = static_cast<int32_t>(box.a_begin);
    Backward(backward_mid) = static_cast<int32_t>(box.a_end);

    for (int64_t edits = 1;; ++edits) {
      // One more edit from the start. Diagonals outside the box are marked as never reached, so
      // that their neighbours do not read stale values.
      forward_low > low ? Forward(--forward_low - 1) = -1 : ++forward_low;
      forward_high < high ? Forward(++forward_high + 1) = -1 : --forward_high;
      for (int64_t k = forward_high; k >= forward_low; k -= 2) {
        int64_t x = std::max(Forward(k - 1) + 1, Forward(k + 1));
        int64_t y = x - k;
        const int64_t before = x;
        while (x < box.a_end && y < box.b_end && Equal(x, y)) ++x, ++y;
        Spend(x - before);
        if (exhausted_) return {};
        Forward(k) = static_cast<int32_t>(x);
        if (odd && backward_low <= k && k <= backward_high && Backward(k) <= x) return {x, y};
      }
      // And one from the end.
      backward_low > low ? Backward(--backward_low - 1) = kNever : ++backward_low;
      backward_high < high ? Backward(++backward_high + 1) = kNever : --backward_high;
      for (int64_t k = backward_high; k >= backward_low; k -= 2) {
        int64_t x = std::min(Backward(k - 1), Backward(k + 1) - 1);
        int64_t y = x - k;
        const int64_t before = x;
        while (x > box.a_begin && y > box.b_begin && Equal(x - 1, y - 1)) --x, --y;
        Spend(before - x);
        if (exhausted_) return {};
        Backward(k) = static_cast<int32_t>(x);
        if (!odd && forward_low <= k && k <= forward_high && x <= Forward(k)) return {x, y};
      }
      Spend(forward_high - forward_low + backward_high - backward_low + 2);
      if (exhausted_) return {};
      if (edits >= kManyEdits) {
        hurried_ = true;
        return Furthest(box, forward_low, forward_high);
      }
    }
  }

  // The point where the search from the start got furthest.
  Point Furthest(const Box& box, int64_t forward_low, int64_t forward_high) {
    Point best{box.a_begin, box.b_begin};
    for (int64_t k = forward_high; k >= forward_low; k -= 2) {
      const int64_t x = std::min<int64_t>(Forward(k), box.a_end);
      const int64_t y = x - k;
      if (y > box.b_end || y < box.b_begin || x < box.a_begin) continue;
      if (x + y > best.x + best.y) best = {x, y};
    }
    return best;
  }

  static constexpr int32_t kNever = 1 << 30;

  std::span<const uint32_t> a_;
  std::span<const uint32_t> b_;
  std::vector<bool>& changed_a_;
  std::vector<bool>& changed_b_;
  uint64_t& work_;
  int64_t offset_;
  std::vector<int32_t> forward_;
  std::vector<int32_t> backward_;
  bool exhausted_ = false;
  bool hurried_ = false;
};

}  // namespace

bool MarkChanges(std::span<const uint32_t> a, std::span<const uint32_t> b,
                 std::vector<bool>& changed_a, std::vector<bool>& changed_b, uint64_t& work) {
  return Search(a, b, changed_a, changed_b, work).Run();
}

}  // namespace cloche::change
