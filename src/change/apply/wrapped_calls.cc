#include "change/apply/promote_fixture.h"

// In the tests the linker puts __wrap_X in the place of every call of X, and X in that of __real_X
// (--wrap).
extern "C" {

int __real_renameat2(int from, const char* name, int to, const char* other, unsigned flags);
int __real_fchmod(int file, mode_t mode);
int __real_futimens(int file, const timespec* times);

int __wrap_renameat2(int from, const char* name, int to, const char* other, unsigned flags) {
  if (cloche::apply::before_rename) cloche::apply::before_rename();
  if (cloche::apply::before_change) cloche::apply::before_change();
  return __real_renameat2(from, name, to, other, flags);
}

int __wrap_fchmod(int file, mode_t mode) {
  if (cloche::apply::before_change) cloche::apply::before_change();
  return __real_fchmod(file, mode);
}

int __wrap_futimens(int file, const timespec* times) {
  if (cloche::apply::before_change) cloche::apply::before_change();
  return __real_futimens(file, times);
}
}
