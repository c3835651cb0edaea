#include "promoter/prune.h"

#include <fcntl.h>
#include <unistd.h>

#include <ranges>

#include "promoter/annex.h"
#include "promoter/apply.h"

namespace cloche::promoter {
namespace {

bool IsFinished(const Store& store, const std::string& id) {
  const auto entry = store.OpenEntry(id);
  if (!entry) return false;
  const auto head = Journal::ReadHead(entry->directory.get(), id);
  return head && (head->state == PromotionState::kDone || head->state == PromotionState::kUndone ||
                  head->state == PromotionState::kReverted);
}

}  // namespace

void Prune(const Store& store, int64_t now_ms) {
  const std::vector<std::string> ids = store.List();
  if (ids.size() <= kKeptPromotions) return;
  for (const std::string& id : ids | std::views::take(ids.size() - kKeptPromotions)) {
    if (const auto made_ms = MadeAtMs(id); !made_ms || now_ms - *made_ms < kKeptMs) continue;
    if (IsFinished(store, id)) (void)RemovePromotion(store, id);  // or the next time
  }
}

void DropStaged(const Promotion& promotion, const Store::Entry& entry) {
  for (const Step& step : promotion.steps) {
    if (step.forced) continue;  // it is what somebody else put there
    const std::string name = std::to_string(step.number);
    const Identity now = IdentityAt(entry.Of(step), name);
    if (!now.exists() || now.device != step.staged.device || now.inode != step.staged.inode)
      continue;
    if (IsWritten(step, entry.Of(step), name)) continue;  // so is this
    (void)unlinkat(entry.Of(step), name.c_str(), step.directory ? AT_REMOVEDIR : 0);
  }
  DropEmptyAnnexes(promotion);
}

}  // namespace cloche::promoter
