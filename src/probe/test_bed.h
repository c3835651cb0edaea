#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/ears.h"
#include "probe/launch.h"

namespace cloche::probe {

// Where an attack runs. The first two are controls; the others are the ways into a sandbox, which
// must all be the same wall.
enum class Site { kBare, kNamespaces, kRun, kExec, kTerminal, kDirectory };
constexpr Site kWaysIn[] = {Site::kRun, Site::kExec, Site::kTerminal, Site::kDirectory};
const char* SiteName(Site place);
inline bool IsControl(Site place) { return place == Site::kBare || place == Site::kNamespaces; }

// The host plants it before every attack and looks at it afterwards: flags that nobody inside may
// read, files that must stay as they are, sockets nobody may reach, a process nobody may touch.
class TestBed {
 public:
  static Result<std::unique_ptr<TestBed>> Set();
  ~TestBed();
  TestBed(const TestBed&) = delete;

  bool root() const { return root_; }
  const std::string& token() const { return token_; }
  const std::string& base() const { return base_; }
  const std::string& project() const { return project_; }
  const std::string& hidden() const { return hidden_; }
  const std::string& attack() const { return attack_; }
  const std::string& cli() const { return cli_; }
  const std::string& mode() const { return mode_; }
  const std::string& state_directory() const { return state_directory_; }
  const std::string& socket() const { return socket_; }  // of the daemon
  const Words& flag_files() const { return flag_files_; }
  const Words& sentinels() const { return sentinels_; }
  const Words& set_user_id_programs() const { return set_user_id_programs_; }
  std::string sandbox() const { return token_; }  // the one that lives as long as we do
  int daemon_pid() const { return daemon_pid_; }
  std::string victim_pid() const { return std::to_string(victim_->pid()); }
  int shm_key() const { return shm_key_; }
  Ears& ears() const { return *ears_; }
  Words marker_directories() const;

  Launch At(Site place, const std::string& attack, const Words& words) const;
  Launch Cli(Words words) const;  // `cloche WORDS`, started in the project
  Words Attack(const std::string& name, const Words& words) const;  // its argv
  // `cloche OPTIONS -- ATTACK`, e.g. {"run", "-q", "--pids", "64"}.
  Launch Inside(Words options, const std::string& attack, const Words& words) const;
  Launch Outside(const std::string& attack, const Words& words) const {
    return At(Site::kBare, attack, words);
  }

  // Everything the host can see of an attack that worked, and puts the bed back in order.
  Words Evidence(const Ran& ran);
  // Effects of a control on the victim may show a moment late; they must not count against a
  // sandbox.
  void Settle();

  std::string PlantFlag(const std::string& path, mode_t mode);  // the flag's text
  void RemoveFlag(const std::string& path);
  bool HasFlag(const std::string& text) const;
  void RestoreSentinels();
  bool SentinelsChanged() const;
  std::set<std::string> Modules() const;

 private:
  TestBed() = default;
  Status Plant();
  Status StartSandbox();
  std::string HostState() const;

  bool root_ = false;
  std::string token_, base_, project_, hidden_, attack_, cli_, mode_, state_directory_, socket_;
  struct Flag {
    std::string text, where;
  };
  std::vector<Flag> flags_;
  Words flag_files_, sentinels_, set_user_id_programs_, made_directories_;
  int daemon_pid_ = 0;
  int shm_key_ = 0, shm_id_ = -1;
  std::string shm_file_, host_state_;
  std::unique_ptr<Ears> ears_;
  std::unique_ptr<Running> victim_;
};

// Where a daemon of Cloche may listen.
Words DaemonSockets();

}  // namespace cloche::probe
