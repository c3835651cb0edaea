#pragma once

#include <cstdint>
#include <string>

#include "change/apply/prepare.h"

namespace cloche::apply {

inline constexpr size_t kKeptPromotions = 50;
inline constexpr int64_t kKeptMs = int64_t{30} * 24 * 3600 * 1000;

// Removes old promotions, with the files they replaced, unless they are among the newest or still
// young. Unfinished ones stay, however old.
void Prune(const Store& store, int64_t now_ms);

// Removes the copies of the sandbox's files once a promotion is reverted. Reality's files and other
// people's stay. Many files are only moved aside, because removing them can take longer than all
// the rest.
void DropPrepared(const Promotion& promotion, const Store::Entry& entry);
// Removes at most `most` of the files that were moved aside.
void Sweep(int promotions, size_t most = SIZE_MAX);
// Leaves a child behind that does so when this process exits.
void SweepLater(const std::string& home);

}  // namespace cloche::apply
