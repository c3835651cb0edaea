#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/error_json.h"
#include "base/text.h"
#include "probe/report.h"

namespace cloche::probe {
namespace {

constexpr const char* kUsage =
    "Attacks sandboxes on purpose and judges from the host.\n"
    "Usage: cloche probe [--only ID,...] [--json]\n\n"
    "Every probe runs once without a sandbox first and must succeed there: an attack that works\n"
    "nowhere proves nothing. Exit status 1 when a promise is broken or a probe proves nothing.\n";

struct Options {
  std::set<std::string> only;
  bool json = false;
};

int Fails(const Error& error, bool json) {
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"error", ErrorJson(error)}}.dump());
  } else {
    fmt::print(stderr, "cloche probe: {}\n", EscapeForTerminal(error.message));
    if (!error.cure.empty()) fmt::print(stderr, "  cure: {}\n", error.cure);
  }
  return ExitStatus(error.code);
}

int Usage(const char* problem, const std::string& word, bool json) {
  return Fails({Code::kInvalid, fmt::format("{} {}", problem, EscapeForTerminal(word)),
                "cloche probe --help"},
               json);
}

std::vector<Promise> AllPromises() {
  std::vector<Promise> all;
  for (const auto& promises :
       {FilePromises(), GrantPromises(), ProcessPromises(), KernelPromises(), NetworkPromises(),
        BorderPromises(), ResourcePromises(), StartPromises(), StormPromises(), PendingPromises()})
    all.insert(all.end(), promises.begin(), promises.end());
  return all;
}

int Judge(const Options& options) {
  const std::vector<Promise> promises = AllPromises();
  for (const std::string& id : options.only)
    if (std::ranges::none_of(promises, [&](const Promise& promise) {
          return std::ranges::any_of(promise.probes, [&](auto& each) { return each.id == id; });
        }))
      return Usage("no probe is called", id, options.json);

  auto bed = TestBed::Set();
  if (!bed) return Fails(bed.error(), options.json);
  const bool progress = isatty(STDERR_FILENO) != 0;
  std::vector<Row> rows;
  for (const Promise& promise : promises)
    for (const Probe& probe : promise.probes) {
      if (interrupted) continue;
      if (!options.only.empty() && !options.only.contains(std::string(probe.id))) continue;
      if (progress) fmt::print(stderr, "\r\033[K{} {}", probe.id, probe.attempt);
      rows.push_back({promise.text, &probe, RunProbe(probe, **bed)});
    }
  if (progress) fmt::print(stderr, "\r\033[K");
  if (interrupted) return 128 + SIGINT;
  if (options.json)
    PrintJson(rows, (*bed)->mode());
  else
    PrintTable(rows, (*bed)->mode(), isatty(STDOUT_FILENO) != 0);
  return std::ranges::any_of(rows, [](const Row& row) { return row.outcome.Fails(); }) ? 1 : 0;
}

}  // namespace
}  // namespace cloche::probe

int main(int argc, char** argv) {
  using namespace cloche::probe;
  const Words words(argv + 1, argv + argc);
  if (words.size() >= 2 && words[0] == "--attack")
    return RunAttack(words[1], Words(words.begin() + 2, words.end()));

  Options options;
  options.json = std::ranges::find(words, "--json") != words.end();
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--json") continue;
    if (words[i] == "--only" && i + 1 < words.size()) {
      std::istringstream list(words[++i]);
      for (std::string id; std::getline(list, id, ',');) options.only.insert(id);
    } else if (words[i] == "-h" || words[i] == "--help") {
      fmt::print("{}", kUsage);
      return 0;
    } else {
      return Usage("no such option:", words[i], options.json);
    }
  }
  struct sigaction stop {};
  stop.sa_handler = [](int) { interrupted = true; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return Judge(options);
}
