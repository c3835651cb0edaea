#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/connect.h"
#include "cli/print.h"
#include "sys/fd.h"

namespace cloche::cli {

// HTTP/1.1 to the daemon, one connection for each request. Errors are the daemon's own.

Result<Json> Call(const char* method, const std::string& target, const Json& body = nullptr,
                  StartDaemon start = StartDaemon::kIfNeeded);
Result<std::string> CallForBytes(const std::string& target);
// An answer that may be long, piece by piece as it comes. An error: what came is not all.
using PieceSink = std::function<void(std::string_view)>;
Status CallForPieces(const std::string& target, const PieceSink& sink, const char* method = "GET",
                     const Json& body = nullptr);

// A connection that speaks frames (base/frames.h) from here on.
struct Upgraded {
  sys::Fd socket;
  std::string unread;  // what arrived behind the headers
  double connected_ms = 0;
};
Result<Upgraded> CallForStream(const std::string& target, const Json& body);

}  // namespace cloche::cli
