# Sorts a copy by hand.
cat > median.c <<'C'
#include "median.h"

#include <stdlib.h>
#include <string.h>

double median(const double *values, size_t count) {
  if (count == 0) return 0;
  double *sorted = malloc(count * sizeof *sorted);
  memcpy(sorted, values, count * sizeof *sorted);
  for (size_t end = count; end > 1; --end)
    for (size_t i = 1; i < end; ++i)
      if (sorted[i - 1] > sorted[i]) {
        double swap = sorted[i];
        sorted[i] = sorted[i - 1];
        sorted[i - 1] = swap;
      }
  double middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
  free(sorted);
  return middle;
}
C
make test
