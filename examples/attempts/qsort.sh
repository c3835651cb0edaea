# Sorts a copy with the library.
cat > median.c <<'C'
#include "median.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median(const double *values, size_t count) {
  if (count == 0) return 0;
  double *sorted = malloc(count * sizeof *sorted);
  memcpy(sorted, values, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, ascending);
  double middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
  free(sorted);
  return middle;
}
C
make test
