#pragma once

#include <cstdint>
#include <string>

#include "change/apply/prepare.h"

namespace cloche::apply {

inline constexpr size_t kKeptPromotions = 50;
inline constexpr int64_t kKeptMs = int64_t{30} * 24 * 3600 * 1000;

// Old promotions go, with what they replaced: those that are neither among the newest nor young.
// One that is not finished stays, however old it is.
void Prune(const Store& store, int64_t now_ms);

// What was taken back is no longer needed: the copies of the sandbox's files. What is not ours, or
// was reality's, stays.
// Many are only moved aside: to remove them can take longer than all the rest.
void DropPrepared(const Promotion& promotion, const Store::Entry& entry);
// Removes what was moved aside, in the directory of promotions: at most that many files.
void Sweep(int promotions, size_t most = SIZE_MAX);
// Leaves a process behind that does so when we have ended.
void SweepLater(const std::string& home);

}  // namespace cloche::apply
