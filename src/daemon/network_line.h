#pragma once

#include <string>

#include "daemon/event.h"

namespace cloche::daemon {

// A record as a line that is safe to print to a terminal: ASCII without control characters.
inline std::string LineOf(const Json& record) {
  std::string line;
  for (const char c : record.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '\x7f') {
      line += "\\u007f";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace cloche::daemon
