#pragma once

#include <string>

#include "benches.h"
#include "http.h"
#include "program.h"

namespace cloche::bench {

// A sandbox that reaches one server of this machine.
class Granted {
 public:
  Granted(OwnDaemon& daemon, const std::string& rule, bool canaries = false);
  ~Granted();
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;

  // The machine itself as it is called inside, for --net.
  std::string Machine();
  // Standard output. Throws when it does not exit with 0.
  std::string Run(const Argv& argv);

 private:
  Connection connection_;
  std::string id_;
};

// The path, once the text is in it.
std::string WriteFile(const std::string& path, const std::string& text);

// TLS ended and begun again, beside nginx that does the same.
void BenchTls(OwnDaemon& daemon, const std::string& place, const Options& options, Report& report);

}  // namespace cloche::bench
