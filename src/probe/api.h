#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cloche::probe {

// Just enough of a client to ask the daemon for what the CLI never would.
struct Answer {
  int status = 0;  // of HTTP; 0: none came
  nlohmann::json body;
};
Answer Post(const std::string& socket, const std::string& path, const nlohmann::json& body);

int ConnectTo(const std::string& socket);  // -1: nobody listens
int ServerOf(const std::string& socket);   // its pid; 0: nobody listens

}  // namespace cloche::probe
