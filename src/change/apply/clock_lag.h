#pragma once

#include <cstdint>
#include <map>

namespace cloche::apply {

// How far the clock that dates the files of a directory is behind ours: that of a file server is
// another. Makes a file there, and removes it. Gets no entry where the clock is ours.
void MeasureLag(int directory, std::map<uint64_t, int64_t>& lags_ns);

// What the kernel of this machine dates.
bool HasOurClock(int directory);

}  // namespace cloche::apply
