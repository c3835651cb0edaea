#pragma once

#include <stddef.h>

/* The median of `count` values, 0 when there are none. The values stay as they are. */
double median(const double* values, size_t count);
