#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::probe {

using Words = std::vector<std::string>;

// The report of an attack program, one JSON line. It only advises the judge on the host, which
// looks for evidence itself wherever success can be seen from there.
class Attempt {
 public:
  Attempt(std::string_view name, Words words);

  const Words words;

  void Got(std::string what);  // something worked that must not
  void Refused() { ++refused_; }
  // Counts one try: `result` as a system call returns it.
  bool Try(const std::string& what, long result);
  void Data(std::string_view text);  // whatever could be read; the judge knows the flags in it
  void Set(const char* key, nlohmann::json value) { report_[key] = std::move(value); }

  // For attacks that last: tells the judge that it is in place, then waits until the judge has
  // looked.
  void ReadyAndHold();
  void Print();

 private:
  nlohmann::json report_;
  std::string data_;
  int refused_ = 0;
};

struct Attack {
  std::string_view name;
  void (*run)(Attempt&);
};

std::span<const Attack> FileAttacks();
std::span<const Attack> ProcAttacks();
std::span<const Attack> ProcessAttacks();
std::span<const Attack> KernelAttacks();
std::span<const Attack> NetworkAttacks();
std::span<const Attack> BorderAttacks();
std::span<const Attack> ResourceAttacks();
std::span<const Attack> GrantAttacks();
std::span<const Attack> StartAttacks();
std::span<const Attack> StormAttacks();

// `cloche-probe --attack NAME WORDS...`
int RunAttack(std::string_view name, Words words);

// Runs `body` in a child, so that its changes to itself end with it. Returns the wait status.
int InChild(void (*body)(Attempt&), Attempt& attempt);

// Calls back for everything below `top` that can be listed; entries that vanish meanwhile are
// skipped.
void Walk(const std::string& top, int depth, const std::function<void(const std::string&)>& visit);

std::string ReadAll(const std::string& path, size_t most = 64 * 1024);

}  // namespace cloche::probe
