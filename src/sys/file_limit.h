#pragma once

#include <cstdint>

namespace cloche::sys {

// Allows at least this many open files, for us and our children; raising the hard limit needs root.
// 0, or -errno and nothing changed.
int AllowFiles(uint64_t count);

}  // namespace cloche::sys
