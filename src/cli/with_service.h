#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/print.h"

namespace cloche::cli {

struct ServiceFlags {
  std::vector<std::string> services;  // port, pid or unit
  std::vector<std::string> data;
  std::string command;
};

// The services that run on this machine at these places, in their order: cloche-service's answers.
Result<std::vector<Json>> FindServices(const ServiceFlags& flags);

// Stops each for the moment in which its data is copied into the sandbox, then starts all of them
// there and waits until they answer. Tells on standard error how far it is, unless `quiet`.
Result<Json> CopyServices(const std::string& sandbox, const std::vector<Json>& services,
                          bool quiet);

}  // namespace cloche::cli
