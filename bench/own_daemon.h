#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cloche::bench {

// A daemon with directories of its own, reached through CLOCHE_STATE_DIR and CLOCHE_RUNTIME_DIR in
// our environment. Gone, with everything it made, when this object is.
class OwnDaemon {
 public:
  // `root` exists and is removed at the end.
  explicit OwnDaemon(std::string root);
  ~OwnDaemon();
  OwnDaemon(const OwnDaemon&) = delete;
  OwnDaemon& operator=(const OwnDaemon&) = delete;

  // Started by the CLI, as for anybody; does nothing when it runs.
  void Start();
  void Stop();
  bool Runs() const;
  std::string WhyGone() const;
  // The next start has to make the pool again.
  void ForgetState();

  pid_t pid() const { return pid_; }
  // cloched first, then all that descend from it.
  std::vector<pid_t> Processes() const;
  std::string state() const { return root_ + "/state"; }
  std::string socket() const { return root_ + "/run/cloched.sock"; }
  // A directory for work that the sandboxes see.
  std::string work() const { return root_ + "/work"; }
  // CaStore that the daemon believes beside the machine's own, once it is written.
  std::string trusted() const { return root_ + "/trusted.pem"; }
  std::string cloche() const;

  // The body of a request to make a sandbox as the CLI would send it.
  nlohmann::json SandboxRequest() const;

 private:
  std::string root_;
  pid_t pid_ = -1;
};

// Processes below `ancestor`, itself first.
std::vector<pid_t> Descendants(pid_t ancestor);

}  // namespace cloche::bench
