// Linked into every sanitized program, so that no finding gets lost: helpers have an empty
// environment and a stderr nobody reads, and confined processes and inits inside a sandbox cannot
// open a file. Where a directory `reports` stands beside the program's own, the program maps a file
// in there when it starts. Its forks inherit the mapping, and reporting takes no system call.
#include <fcntl.h>
#include <limits.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace {

constexpr size_t kSize = 64 << 10;

struct Page {
  std::atomic<size_t> used;
  char text[kSize - sizeof(std::atomic<size_t>)];
};

Page* page = nullptr;

void Keep(const char* report) {
  if (page == nullptr) return;
  const size_t size = strlen(report), at = page->used.fetch_add(size);
  if (at < sizeof page->text)
    memcpy(page->text + at, report, std::min(size, sizeof page->text - at));
}

[[gnu::constructor]] void MapPage() {
  // The sanitizer opens a file itself.
  if (const char* options = getenv("ASAN_OPTIONS"); options && strstr(options, "log_path=")) return;
  char program[PATH_MAX] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return;
  char* slash = strrchr(program, '/');
  if (slash == nullptr) return;
  *slash = '\0';
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/../reports/%s.%d", program, slash + 1, getpid());
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (ftruncate(fd, kSize) == 0) {
    void* mapped = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) page = static_cast<Page*>(mapped);
  }
  close(fd);
  __asan_set_error_report_callback(Keep);
}

}  // namespace

// Undefined behaviour is a trap in these builds (CMakePresets.json), which arrives as SIGILL.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {
  return "handle_sigill=1:handle_abort=1:detect_stack_use_after_return=1:strict_init_order=1:"
         "check_initialization_order=1";
}
