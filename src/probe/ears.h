#pragma once

#include <string>
#include <vector>

namespace cloche::probe {

// All places on the host where a program could knock: loopback ports, sockets in files, abstract
// names, a FIFO. Nothing is answered; the kernel keeps what arrived until we count it.
class Ears {
 public:
  Ears(const std::string& token, const std::vector<std::string>& directories);
  Ears(const Ears&) = delete;
  ~Ears();

  int tcp_port() const { return tcp_port_; }
  int udp_port() const { return udp_port_; }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<std::string>& abstract_names() const { return names_; }

  // The connections since the last call, in words.
  std::vector<std::string> Heard();

 private:
  struct Ear {
    int fd;
    bool accepts;
    std::string name;
  };
  void Loopback(int type, int& port);
  void Unix(int type, const std::string& path, bool is_abstract);

  std::vector<Ear> ears_;
  std::vector<std::string> paths_, names_;
  int tcp_port_ = 0, udp_port_ = 0;
};

}  // namespace cloche::probe
