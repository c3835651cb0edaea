#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/print.h"

namespace cloche::cli {

// Sends one request for each sandbox named, or for `all` of them, and continues after a failure.
// With `json` it prints a list with an object for each, however many there are. Returns the status
// of the first failure.
struct EachSandbox {
  const char* method;
  const char* rest;     // of the target, behind the sandbox
  const char* listing;  // what --all means: "" or "?all=1"
  // Right before the request.
  std::function<Status(const std::string& ref)> check = {};
};
int ForEachSandbox(const EachSandbox& request, std::vector<std::string> refs, bool all, bool json);

// The sandboxes that --all stands for.
Result<std::vector<std::string>> AllSandboxes(const char* listing);

}  // namespace cloche::cli
