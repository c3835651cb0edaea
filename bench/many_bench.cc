#include <fmt/core.h>

#include <atomic>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>

#include "benches.h"
#include "floor.h"
#include "http.h"
#include "program.h"

namespace cloche::bench {
namespace {

constexpr int kAtOnce = 100;
constexpr int kMakers = 8;
constexpr double kManyBound = 2;  // of as many bwrap
constexpr int kFewer = 200;
constexpr double kPatienceMs = 60'000;

// `work(i)` in a thread each; the first thing that went wrong is thrown here.
void InThreads(int count, const std::function<void(int)>& work) {
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          const std::scoped_lock lock(mutex);
          failure = std::current_exception();
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}

void RemoveAll(const OwnDaemon& daemon, const std::vector<std::string>& ids) {
  std::atomic<size_t> next = 0;
  InThreads(kMakers, [&](int) {
    Connection connection(daemon.socket());
    for (size_t i; (i = next++) < ids.size();)
      if (!ids[i].empty()) connection.Call("DELETE", "/v1/sandboxes/" + ids[i]);
  });
}

double HundredAtOnce(const OwnDaemon& daemon) {
  const nlohmann::json command = {{"argv", {FindProgram("true")}}};
  std::vector<std::string> ids(kAtOnce);
  const Stopwatch watch;
  InThreads(kAtOnce, [&](int i) {
    Connection connection(daemon.socket());
    std::string& id = ids[static_cast<size_t>(i)];
    id = connection.Call("POST", "/v1/sandboxes", daemon.SandboxRequest()).at("id");
    const auto result = connection.Call("POST", "/v1/sandboxes/" + id + "/commands", command);
    if (result.value("exit_status", -1) != 0)
      throw std::runtime_error("run true: " + result.dump());
  });
  const double ms = watch.Ms();
  RemoveAll(daemon, ids);
  return ms;
}

long Kib(const std::string& path, const std::vector<std::string>& keys) {
  std::ifstream file(path);
  long sum = 0;
  for (std::string line; std::getline(file, line);)
    for (const std::string& key : keys)
      if (line.starts_with(key + ":")) sum += std::stol(line.substr(key.size() + 1));
  return sum;
}

long PrivateKib(const OwnDaemon& daemon) {
  long sum = 0;
  for (const pid_t pid : daemon.Processes())
    sum += Kib(fmt::format("/proc/{}/smaps_rollup", pid), {"Private_Clean", "Private_Dirty"});
  return sum;
}

void ManyAlive(const OwnDaemon& daemon, int wanted, Report& report) {
  const long free_before = Kib("/proc/meminfo", {"MemAvailable"});
  std::vector<std::string> ids(static_cast<size_t>(wanted));
  std::atomic<size_t> next = 0;
  std::atomic<size_t> last = ids.size();
  const Stopwatch watch;
  InThreads(kMakers, [&](int) {
    Connection connection(daemon.socket());
    for (size_t i; (i = next++) < last;) {
      ids[i] = connection.Call("POST", "/v1/sandboxes", daemon.SandboxRequest()).at("id");
      // Slow machine: fewer have to do, and the line says how many there were.
      if (watch.Ms() > kPatienceMs && last > kFewer) last = std::max<size_t>(kFewer, i + 1);
    }
  });
  const double ms = watch.Ms();
  const auto count =
      static_cast<double>(std::ranges::count_if(ids, [](const auto& id) { return !id.empty(); }));
  const double private_mib = static_cast<double>(PrivateKib(daemon)) / 1024 / count;
  const double kernel_kib =
      static_cast<double>(free_before - Kib("/proc/meminfo", {"MemAvailable"})) / count;
  report.Limit("many.memory", fmt::format("{:.0f} alive: unshared memory each", count), private_mib,
               "MiB", 0.5);
  report.Tell("many.kernel-memory", "  MemAvailable lost each (with the kernel's)",
              fmt::format("{:.0f} KiB", kernel_kib));
  report.Tell("many.made", "  made in",
              fmt::format("{:.1f} s, {:.1f} ms each", ms / 1000, ms / count));
  const Stopwatch removal;
  RemoveAll(daemon, ids);
  report.Tell("many.removed", "  removed in", fmt::format("{:.1f} s", removal.Ms() / 1000));
}

}  // namespace

void BenchMany(OwnDaemon& daemon, const Options& options, Report& report) {
  const Once ours = [&] { return HundredAtOnce(daemon); };
  const Argv bwrap = BwrapTrue();
  const std::string promise = "100 made at once, each having run a command";
  const Schedule schedule{.warmup = 1, .rounds = options.Rounds(7, 3)};
  if (bwrap.empty()) {
    report.Tell("many.at-once", promise, Alternate({ours}, schedule)[0]);
  } else {
    const auto both = Alternate({ours, [&] { return TimeSpawnMany(bwrap, kAtOnce); }}, schedule);
    report.Compare("many.at-once", promise, both[0], "100 x bwrap", both[1], kManyBound);
  }
  ManyAlive(daemon, options.quick ? std::min(options.alive, kFewer) : options.alive, report);
}

}  // namespace cloche::bench
