#pragma once

#include <stdint.h>

#include <string>
#include <string_view>

namespace cloche::sys {

// Writes everything, retrying after interruptions; on failure errno says why.
bool WriteWhole(int fd, std::string_view bytes);
// Reads or writes whole small files (procfs, cgroupfs), relative to a directory fd. -errno on
// failure.
int WriteFileAt(int dir, const char* path, std::string_view content);
int ReadFileAt(int dir, const char* path, std::string& content, size_t limit = 1 << 20);
int ReadAll(int file, std::string& content, size_t limit = 1 << 20);

// The number after `key` in "key value\n" lines, or the first number if key is empty; -1 if none.
int64_t NumberIn(const char* text, const char* key = "");
int64_t ReadNumberAt(int dir, const char* path, const char* key = "");

bool HasAttribute(int fd, const char* name);  // extended
void RandomBytes(unsigned char* bytes, size_t size);
bool IsRegularFile(const char* path);
uint64_t MonotonicMicros();
int64_t RealNanos();    // since 1970
int64_t CoarseNanos();  // the clock of file times: since 1970, never ahead of them

}  // namespace cloche::sys
