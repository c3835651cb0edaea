#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cloche::bench {

// One kept-alive connection to cloched, blocking.
class Connection {
 public:
  explicit Connection(const std::string& socket_path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Throws std::runtime_error when the answer is not a 2xx.
  nlohmann::json Call(const std::string& method, const std::string& target,
                      const nlohmann::json& body = nullptr);

 private:
  int fd_;
};

}  // namespace cloche::bench
