#pragma once

#include <cstdint>

namespace cloche::sys {

// So many open files at least, for us and whoever we start; a limit above what was allowed needs
// root. 0, or -errno and nothing changed.
int AllowFiles(uint64_t count);

}  // namespace cloche::sys
