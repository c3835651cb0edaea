#pragma once

#include <string>
#include <string_view>

#include "race/result.h"

namespace cloche::race {

// Numbers as people read them; "-" for what is not known.

std::string FormatTime(double seconds);  // "0.42 s", "12.3 s", "3 min 05 s"
std::string FormatScore(double score);

std::string TimeOf(const LaneResult& lane);
std::string CpuOf(const LaneResult& lane);
std::string MemoryOf(const LaneResult& lane);
std::string ScoreOf(const LaneResult& lane);
std::string FilesOf(const LaneResult& lane);
std::string LinesOf(const LaneResult& lane);  // "+14 -2"

// "a", "a and b", "a, b and c".
std::string JoinNames(const Race& race, const std::vector<size_t>& lanes);

// The beginning of escaped text that fits, with an ellipsis if something is left out.
std::string Clip(std::string_view escaped, size_t columns);

}  // namespace cloche::race
