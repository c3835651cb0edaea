#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "probe/attack.h"

namespace cloche::probe {

struct Launch {
  Words argv;
  std::string directory = {};      // to start in
  bool terminal = false;           // a pty of our own as all three
  bool namespaces = false;         // throw-away ones, and root in them
  bool leak_directory = false;     // leaves an open directory, as careless runtimes do
  std::optional<uid_t> user = {};  // become this one first
  Words environment = {};          // NAME=VALUE, on top of ours
  std::string input = {};          // a few bytes that it may read first
};

struct Ran {
  bool ended = false;  // by itself, within any patience
  int status = -1;     // exit status, or 128 + signal
  std::string output;
  std::string errors;
  nlohmann::json report;  // of the attack; null when it printed none

  bool Reported() const { return report.is_object(); }
  std::string LastError() const;
};

// A program that runs while the judge looks around.
class Running {
 public:
  explicit Running(const Launch& launch);
  Running(const Running&) = delete;
  ~Running();

  bool started() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  const std::string& terminal_id() const { return terminal_id_; }  // device:inode
  bool WaitForLine(const std::string& line);  // false: it ended, or never said it
  void CloseInput();
  Ran Finish();  // closes its input, waits for the end
  bool Alive() const;
  std::string TakeOutput();  // what it has said since the last call, without waiting

 private:
  bool Pump(int deadline_ms);
  bool open() const { return output_ >= 0 || errors_ >= 0; }

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  bool terminal_ = false;
  std::string terminal_id_;
  Ran ran_;
};

inline Ran RunToEnd(const Launch& launch) { return Running(launch).Finish(); }

// Set by SIGINT and SIGTERM; everything then ends early and cleans up.
extern volatile bool interrupted;

}  // namespace cloche::probe
