#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cloche::bench {

// A kept-alive connection to cloched, blocking. After an answer that is streamed it is another.
class Connection {
 public:
  explicit Connection(const std::string& socket_path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Throws std::runtime_error when the answer is not a 2xx.
  nlohmann::json Call(const std::string& method, const std::string& target,
                      const nlohmann::json& body = nullptr);
  // For destructors: tells when it cannot, and never throws.
  void Forget(const std::string& sandbox) noexcept;

 private:
  void Connect();
  std::string ReadChunks(std::string answer, size_t head);

  std::string socket_path_;
  int fd_ = -1;
};

}  // namespace cloche::bench
