#pragma once

#include "base/clock_trail.h"

namespace cloche::sys {

ClockReading ReadClocks();

}  // namespace cloche::sys
