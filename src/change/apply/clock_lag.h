#pragma once

#include <cstdint>
#include <map>

namespace cloche::apply {

// Measures how far the clock that dates a directory's files is behind ours; a file server has its
// own. Creates and removes a file there. Adds no entry if the clock is ours.
void MeasureLag(int directory, std::map<uint64_t, int64_t>& lags_ns);

// Whether this machine's kernel dates the files there.
bool HasOurClock(int directory);

}  // namespace cloche::apply
