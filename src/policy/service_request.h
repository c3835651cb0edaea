#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace cloche {

// A directory it expects below the sandbox's own, empty /run.
struct ServiceDirectory {
  std::string path;
  uint32_t mode = 0755;
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool operator==(const ServiceDirectory&) const = default;
};

// A program that runs in a sandbox for as long as the sandbox does: the copy of a service of the
// machine, whose data has been copied before.
struct ServiceRequest {
  std::string name;
  std::string program;
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string cwd;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  std::vector<uint32_t> ports;       // where it answers, on the sandbox's loopback
  std::vector<std::string> sockets;  // likewise
  std::vector<ServiceDirectory> directories;
  std::vector<std::string> data;  // what was copied
  uint64_t since_ms = 0;          // of 1970: states saved before do not hold the data
  bool operator==(const ServiceRequest&) const = default;
};

class FieldReader;
// The key "services" of a request: a list of at most 16, with different names.
void ReadServices(FieldReader& reader, std::vector<ServiceRequest>& out);

Result<std::vector<ServiceRequest>> ParseServices(const nlohmann::json& body);
nlohmann::json ServiceToJson(const ServiceRequest& service);

}  // namespace cloche
