#pragma once

#include <atomic>
#include <thread>

namespace cloche::bench {

// A web server on loopback, in a thread: GET /N is answered with N bytes, GET /hold when Release
// was called, POST /N when all of its body is there.
class Origin {
 public:
  Origin();
  ~Origin();
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  int port() const { return port_; }
  int held() const { return held_; }  // connections that wait for Release
  void Release();

 private:
  struct Client;
  void Serve();
  void Answer(Client& client);

  int listener_ = -1, poller_ = -1, wake_ = -1, port_ = 0;
  std::atomic<int> held_ = 0;
  std::atomic<bool> released_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace cloche::bench
