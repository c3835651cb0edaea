#include "change/apply/earlier.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cloche::apply {
namespace {

bool LeftBefore(const Promotion& promotion, int64_t moment_ns) {
  const auto before = [&](int64_t left_ns) { return left_ns < moment_ns; };
  return std::ranges::all_of(promotion.left_ns, before) &&
         std::ranges::all_of(promotion.parents_left_ns, before);
}

void Enter(const Parent& parent, int64_t left_ns, Wish& wish) {
  const Identity& before = parent.before;
  const auto earlier = wish.entered.find(parent.path);
  const auto known = wish.promoted.find(parent.path);
  const bool only_ours =
      WithoutTouches(wish, before).changed_ns < wish.since_ns ||
      (earlier != wish.entered.end() && earlier->second.only_ours &&
       earlier->second.now == WithoutTouches(wish, before, earlier->second.now.changed_ns)) ||
      (known != wish.promoted.end() && known->second.changed_ns < wish.since_ns &&
       known->second.now == WithoutTouches(wish, before, known->second.now.changed_ns));
  wish.entered[parent.path] = {{before.device, before.inode, left_ns}, only_ours};
}

// For another sandbox's promotion: if it merged onto a merge of ours, the result holds both, so the
// next promotion may merge onto that.
void FollowMerges(const Promotion& other, Wish& wish) {
  for (size_t i = 0; i < other.steps.size() && i < other.left_ns.size(); ++i) {
    const Step& step = other.steps[i];
    if (step.details().merged_from != kMerged) continue;
    const auto found = wish.promoted.find(step.path);
    if (found != wish.promoted.end() && found->second.merged_from == kMerged &&
        found->second.now == step.before)
      found->second.now = {step.prepared.device, step.prepared.inode, other.left_ns[i]};
  }
}

// When files really became what promotions left, by inode and ctime.
using Known = std::map<std::pair<uint64_t, int64_t>, int64_t>;

// Reads one finished promotion of this sandbox, or one of any sandbox that was undone.
class Reader {
 public:
  Reader(const Promotion& earlier, bool own, Known& known, Wish& wish)
      : earlier_(earlier),
        done_(earlier.state == PromotionState::kDone),
        own_(own),
        known_(known),
        wish_(wish) {}

  // Whether it left merges.
  bool Read() {
    for (size_t i = 0; i < earlier_.parents.size() && i < earlier_.parents_left_ns.size(); ++i)
      Take(earlier_.parents[i], earlier_.parents_left_ns[i]);
    for (size_t i = 0; i < earlier_.steps.size() && i < earlier_.left_ns.size(); ++i) {
      TakeNames(earlier_.steps[i], earlier_.left_ns[i]);
      Take(earlier_.steps[i], earlier_.left_ns[i]);
    }
    return merges_;
  }

 private:
  void Take(const Parent& parent, int64_t left_ns) {
    if (done_)
      Enter(parent, left_ns, wish_);
    else if (left_ns != 0)
      wish_.touched[{parent.before.inode, left_ns}] = parent.before.changed_ns;
  }

  // Records the ctime it gave the other names of the same file.
  void TakeNames(const Step& step, int64_t left_ns) {
    const auto linked = earlier_.linked_settled_ns.find(step.number);
    const int64_t touched_ns = !done_                                       ? left_ns
                               : linked != earlier_.linked_settled_ns.end() ? linked->second
                                                                            : 0;
    if (step.before.exists() && touched_ns != 0)
      wish_.touched[{step.before.inode, touched_ns}] = step.before.changed_ns;
  }

  void Take(const Step& step, int64_t left_ns) {
    // A directory that stays had only its status set; a new one has its own kCreate step.
    const bool status = step.kind == StepKind::kSetDir;
    if (status && step.prepared.exists()) return;
    if (done_ && !status && step.before.exists()) wish_.taken.emplace(step.before.inode, step.path);
    const Identity& left = done_ && !status ? step.prepared : step.before;
    // Undone: the step that removed the old file says what is there.
    if (!left.exists() && !done_) return;
    Promoted& promoted = wish_.promoted[step.path];
    if (!left.exists()) {
      promoted = {};
      return;
    }
    promoted.now = {left.device, left.inode, left_ns};
    promoted.changed_ns = done_ ? 0 : ChangedBefore(step);
    known_[{left.inode, left_ns}] = promoted.changed_ns;
    promoted.merged_from = done_ ? step.details().merged_from : step.details().before_merged_from;
    merges_ = merges_ || promoted.merged_from == kMerged;
    if (!done_ || status) return;
    promoted.made = true;
    promoted.modified_ns = step.prepared_modified_ns;
    promoted.size = step.prepared_size;
  }

  // When the file it removed and restored really became what it is. To other sandboxes, a file that
  // this sandbox promoted is as new as its promotion.
  int64_t ChangedBefore(const Step& step) const {
    if (own_ || step.before_changed_ns != 0) return step.before_changed_ns;
    const auto found = known_.find({step.before.inode, step.before.changed_ns});
    return found == known_.end() ? step.before.changed_ns : found->second;
  }

  const Promotion& earlier_;
  const bool done_, own_;
  Known& known_;
  Wish& wish_;
  bool merges_ = false;
};

struct Listed {
  std::string id;
  Store::Entry entry;
  Promotion head;
};

// In the order in which they last changed reality. An undone promotion did so when it was undone,
// possibly after later promotions.
std::vector<Listed> InOrder(const Store& store) {
  std::vector<Listed> all;
  for (const std::string& id : store.List()) {
    auto entry = store.OpenEntry(id);
    if (!entry) continue;
    auto head = Journal::ReadHead(entry->directory.get(), id);
    if (!head) continue;  // its paths then look changed by others: the safe side
    if (head->state_since_ns == 0) head->state_since_ns = MadeAtMs(id).value_or(0) * 1'000'000;
    all.push_back({id, std::move(*entry), std::move(*head)});
  }
  std::ranges::stable_sort(all, {}, [](const Listed& each) { return each.head.state_since_ns; });
  return all;
}

}  // namespace

Status FindEarlier(const Store& store, const std::string& sandbox, Wish& wish) {
  bool merges = false;
  Known known;
  for (const auto& [id, entry, head] : InOrder(store)) {
    const bool done = head.state == PromotionState::kDone;
    const auto ancestor = wish.ancestors.find(head.sandbox);
    if (head.sandbox != sandbox && ancestor == wish.ancestors.end() && done && !merges) continue;
    ASSIGN_OR_RETURN(const Promotion earlier, Journal::Read(entry.directory.get(), id));
    const bool own = head.sandbox == sandbox ||
                     (ancestor != wish.ancestors.end() && LeftBefore(earlier, ancestor->second));
    if (done && !own) {
      FollowMerges(earlier, wish);
      continue;
    }
    // A sandbox made between a promotion and its undo saw the promoted state.
    if (!own && MadeAtMs(id).value_or(0) * 1'000'000 < wish.since_ns) continue;
    if (Reader(earlier, own, known, wish).Read()) merges = true;
  }
  return {};
}

}  // namespace cloche::apply
