#pragma once

#include <string>

#include "http.h"
#include "own_daemon.h"

namespace cloche::bench {

// A running sandbox, gone with this object. Times are those that a client waits for, in ms.
class Sandbox {
 public:
  explicit Sandbox(OwnDaemon& daemon);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  void Run(const std::string& script);                // in the daemon's work directory
  void MakeTree(const std::string& name, int files);  // below it
  double Snapshot();
  double Rollback();  // to the last snapshot
  double Fork(int count);
  double Diff();
  struct Promoted {
    std::string id;
    double look_ms = 0, apply_ms = 0;
  };
  Promoted Promote(const std::string& path);  // and whatever of it runs later
  const std::string& id() const { return id_; }

 private:
  std::string Target(const std::string& rest) const { return "/v1/sandboxes/" + id_ + rest; }

  Connection connection_;
  std::string work_, id_, saved_;
};

// The same tree outside.
void MakeTree(const std::string& place, int files);

}  // namespace cloche::bench
