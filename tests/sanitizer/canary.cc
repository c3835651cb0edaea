// canary overflow|undefined: confined so that it can open no file, it does wrong in a forked child.
// reports.sh checks that this is reported.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/call_list.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const pid_t child = fork();
  if (child == 0) {
    if (cloche::sys::AllowOnly({}) < 0) _exit(3);
    volatile int count = static_cast<int>(strlen(argv[1]));
    if (strcmp(argv[1], "overflow") == 0) {
      const auto* text = static_cast<const volatile char*>(malloc(4));
      _exit(text[count]);
    }
    _exit(count << (count + 31));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 3 ? 0 : 1;
}
