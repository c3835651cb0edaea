#include <errno.h>

#include <algorithm>
#include <string>

#include "base/spawn_protocol.h"
#include "spawn/store.h"
#include "sys/btrfs.h"

// Each ordinary user's share of the pool. All of a user's uppers and saved states are members of
// the quota group 2/UID, whose limit is half of what the pool can grow to. Root has no such limit.
namespace cloche::spawn {

OrFailure<void> Store::Charge(int upper, uint32_t owner) {
  if (!groups_ || owner == 0) return {};
  const int64_t subvolume = sys::SubvolumeId(upper);
  const std::string text = std::to_string(owner);
  if (subvolume < 0)
    return Failed(SpawnStep::kPool, "find subvolume", static_cast<int>(subvolume), text);
  const uint64_t group = sys::UserGroupId(owner), share = ShareOfOne();
  int error = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    uint64_t& limit = shares_[owner];
    if (limit == 0) {
      error = sys::CreateQuotaGroup(root_.get(), group);
      if (error < 0 && error != -EEXIST)
        return Failed(SpawnStep::kPool, "make quota group of user", error, text);
    }
    if (std::max(limit, share) - std::min(limit, share) > share / 16) {
      error = sys::LimitQuotaGroup(root_.get(), group, share);
      if (error == 0) limit = share;
    }
    if (error == 0 || error == -EEXIST)
      error = sys::JoinQuotaGroup(root_.get(), static_cast<uint64_t>(subvolume), group);
    if (error == 0 || error == -EEXIST) return {};
    // The keeper removes empty groups now and then.
    if (error != -ENOENT && error != -EINVAL) break;
    shares_.erase(owner);
  }
  return Failed(SpawnStep::kPool, "join quota group of user", error, text);
}

bool Store::ShareIsFull(uint32_t owner) const {
  constexpr uint64_t kLittle = 64 << 20;  // counted at the pool's last commit, so slightly stale
  const auto share = shares_.find(owner);
  return groups_ && share != shares_.end() &&
         sys::QuotaGroupBytes(root_.get(), sys::UserGroupId(owner)) + kLittle > share->second;
}

}  // namespace cloche::spawn
