#include <stdio.h>
#include <stdlib.h>

#include "median.h"

static int failed;

static void expect(const char *what, double is, double should) {
  if (is == should) return;
  printf("FAIL %s: %g, should be %g\n", what, is, should);
  failed = 1;
}

int main(void) {
  const double sorted[] = {1, 2, 3};
  const double unsorted[] = {9, 1, 5};
  const double even[] = {4, 1, 3, 2};
  expect("of nothing", median(sorted, 0), 0);
  expect("of sorted values", median(sorted, 3), 2);
  expect("of unsorted values", median(unsorted, 3), 5);
  expect("of an even number", median(even, 4), 2.5);

  enum { kMany = 20000 };
  double *many = malloc(kMany * sizeof *many);
  for (int i = 0; i < kMany; ++i) many[i] = (i * 7919) % kMany;
  expect("of many values", median(many, kMany), (kMany - 1) / 2.0);
  expect("of the same values again", median(many, kMany), (kMany - 1) / 2.0);
  expect("first value, which must not move", many[1], 7919);
  free(many);
  if (!failed) puts("all tests passed");
  return failed;
}
