#include "granted.h"

#include <fstream>
#include <stdexcept>

namespace cloche::bench {

Granted::Granted(OwnDaemon& daemon, const std::string& rule, bool canaries)
    : connection_(daemon.socket()) {
  nlohmann::json body = daemon.SandboxRequest();
  if (canaries) body["canaries"] = true;
  body["network"] = {{"rules", nlohmann::json::array({{{"action", "allow"}, {"rule", rule}}})}};
  id_ = connection_.Call("POST", "/v1/sandboxes", body).at("id");
}

Granted::~Granted() { connection_.Forget(id_); }

std::string Granted::Machine() {
  const std::string line = Run({FindProgram("getent"), "ahostsv4", "host.cloche"});
  return "host.cloche@" + line.substr(0, line.find(' '));
}

std::string Granted::Run(const Argv& argv) {
  const auto result =
      connection_.Call("POST", "/v1/sandboxes/" + id_ + "/commands", {{"argv", argv}});
  if (result.value("exit_status", -1) != 0) throw std::runtime_error("inside: " + result.dump());
  return result.at("stdout").get<std::string>();
}

std::string WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

}  // namespace cloche::bench
