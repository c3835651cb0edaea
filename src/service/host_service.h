#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/run.h"

namespace cloche::service {

// A service that runs on this machine, as far as it takes to run it again elsewhere.
struct HostService {
  std::string name;  // of its program
  int pid = 0;       // of its first process
  uint64_t started = 0;
  Program program;
  std::vector<std::string> env;
  std::vector<std::string> left_out;  // names of variables that look like secrets
  std::string cwd;
  std::vector<std::string> data;  // directories and files it writes to; none is below another
  uint64_t bytes = 0;             // of them
};

struct FindOptions {
  std::vector<std::string> data;     // instead of what is found
  std::vector<std::string> command;  // likewise
};

// `ref`: a TCP port, a pid, or the name of a systemd unit; port:N, pid:N and unit:NAME where that
// is not clear. Reads what the caller may read.
Result<HostService> FindService(const std::string& ref, const FindOptions& options);

nlohmann::ordered_json ToJson(const HostService& service);

}  // namespace cloche::service
