#pragma once

#include <string>

namespace cloche {

// EscapeForTerminal for text that is JSON: what a terminal acts on, or what reorders or hides what
// people read, becomes \uNNNN. The value stays what it was.
std::string EscapeJson(std::string json);

}  // namespace cloche
