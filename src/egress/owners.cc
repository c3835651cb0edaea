#include "egress/owners.h"

namespace cloche::egress {

void Owners::Told(Loop& loop, uint64_t number) {
  if (wanted && waiting_.size() < kMostWaiting)
    waiting_.try_emplace(number, std::make_shared<Signal>(loop), loop.now());
}

void Owners::Named(uint64_t number) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;
  found->second.known->Set();
  waiting_.erase(found);
}

void Owners::GiveUp(int64_t told_before) {
  std::erase_if(waiting_, [&](const auto& each) {
    const bool late = each.second.told < told_before;
    if (late) each.second.known->Set();
    return late;
  });
}

Task<void> Owners::Known(uint64_t number) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) co_return;
  const std::shared_ptr<Signal> kept = found->second.known;
  Signal& known = *kept;
  co_await known;
}

}  // namespace cloche::egress
