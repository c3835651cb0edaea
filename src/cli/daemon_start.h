#pragma once

#include <string>

#include "base/result.h"

namespace cloche::cli {

// Starts cloched detached from this session, listening on `socket_path`; returns when it is ready.
Status StartDaemonAt(const std::string& socket_path);

// The program `name` that belongs to this cloche: beside it, or in its libexec directory. "" =
// none.
std::string FindSibling(const std::string& name);

}  // namespace cloche::cli
