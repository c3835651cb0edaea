#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "benches.h"
#include "granted.h"
#include "net_work.h"
#include "origin.h"
#include "peer_proxy.h"
#include "program.h"

// What comes and goes through cloche-egress, beside the same without it and beside other proxies.
namespace cloche::bench {
namespace {

Argv NetWork(const Argv& words) {
  Argv argv = {Sibling("cloche-bench"), "--net"};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

double Outside(const Argv& words) { return std::stod(Capture(NetWork(words))); }
double Inside(Granted& box, const Argv& words) { return std::stod(box.Run(NetWork(words))); }

std::unique_ptr<PeerProxy> StartSquid(const std::string& place, int port) {
  const std::string config = WriteFile(
      place + "/squid.conf",
      fmt::format("http_port 127.0.0.1:{}\nhttp_access allow all\ncache deny all\naccess_log none\n"
                  "cache_log /dev/null\ncache_store_log none\npid_filename none\n"
                  "shutdown_lifetime 0 seconds\ncoredump_dir {}\n",
                  port, place));
  return std::make_unique<PeerProxy>(Argv{FindProgram("squid"), "-N", "-f", config}, port);
}

std::unique_ptr<PeerProxy> StartTinyproxy(const std::string& place, int port) {
  const std::string config = WriteFile(
      place + "/tinyproxy.conf",
      fmt::format("Port {}\nListen 127.0.0.1\nTimeout 600\nMaxClients 200\nAllow 127.0.0.1\n"
                  "LogLevel Critical\n",
                  port));
  return std::make_unique<PeerProxy>(Argv{FindProgram("tinyproxy"), "-d", "-c", config}, port);
}

long ResidentKib(const OwnDaemon& daemon) {
  for (const pid_t pid : daemon.Processes()) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    std::string line;
    for (bool egress = false; std::getline(status, line);) {
      if (line == "Name:\tcloche-egress") egress = true;
      if (egress && line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
  }
  throw std::runtime_error("cloche-egress does not run");
}

void Held(OwnDaemon& daemon, Granted& box, Origin& origin, const std::string& port,
          Report& report) {
  constexpr int kHeld = 1000;
  std::string error;
  std::thread client([&] {
    try {
      Inside(box, {"hold", box.Machine(), port, std::to_string(kHeld)});
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
  });
  for (int i = 0; i < 1200 && origin.held() < kHeld && error.empty(); ++i) usleep(50'000);
  const bool all = origin.held() >= kHeld;
  const double mib = all ? static_cast<double>(ResidentKib(daemon)) / 1024 : 0;
  origin.Release();
  client.join();
  if (!all)
    throw std::runtime_error(fmt::format("{} of 1,000 connections: {}", origin.held(), error));
  report.Limit("network: 1,000 connections at once, cloche-egress", mib, "MiB", 64);
}

void Requests(Granted& box, const std::string& port, const std::string& place,
              const Options& options, Report& report) {
  const std::string count = std::to_string(options.Size(options.quick ? 4000 : 20000));
  const std::string host = box.Machine();
  std::vector<Once> contenders = {[&] {
                                    return Inside(box, {"requests", host, port, count, "/1000"});
                                  },
                                  [&] {
                                    return Outside({"requests", "127.0.0.1", port, count, "/1000"});
                                  }};
  std::vector<std::string> names = {"", "no proxy"};
  std::vector<std::unique_ptr<PeerProxy>> peers;
  using Start = std::unique_ptr<PeerProxy> (*)(const std::string&, int);
  for (const auto& [name, start] :
       {std::pair<const char*, Start>{"squid", StartSquid}, {"tinyproxy", StartTinyproxy}}) {
    if (FindProgram(name).empty()) {
      report.Tell("network: requests", fmt::format("{} is not installed", name));
      continue;
    }
    const int at = FreePort();
    peers.push_back(start(place, at));
    names.push_back(name);
    const std::string url = fmt::format("http://127.0.0.1:{}/1000", port);
    contenders.push_back([=] {
      return Outside({"requests", "127.0.0.1", std::to_string(at), count, url});
    });
  }
  const auto all = Alternate(contenders, {.warmup = 1, .rounds = options.Rounds(7, 3)});
  const std::string promise = fmt::format("network: {} requests, kept connections", count);
  report.Compare("  " + promise + ", beside none", all[0], names[1], all[1]);
  for (size_t i = 2; i < all.size(); ++i) report.Compare(promise, all[0], names[i], all[i], 0.5);
}

}  // namespace

void BenchEgress(OwnDaemon& daemon, const Options& options, Report& report) {
  Origin origin;
  const std::string port = std::to_string(origin.port());
  Granted tcp(daemon, "tcp://host.cloche:" + port), http(daemon, "http://host.cloche:" + port);
  const std::string tcp_host = tcp.Machine();
  const std::string place = daemon.work() + "/peers";
  std::filesystem::create_directories(place);

  const std::string bytes =
      std::to_string(options.Size(options.quick ? 200'000'000 : 1'000'000'000));
  const auto download = Alternate({[&] {
                                     return Inside(tcp, {"download", tcp_host, port, bytes});
                                   },
                                   [&] {
                                     return Outside({"download", "127.0.0.1", port, bytes});
                                   }},
                                  {.warmup = 1, .rounds = options.Rounds(9, 3)});
  report.Compare("network: one download", download[0], "plain loopback", download[1], 1 / 0.7);

  Granted watched(daemon, "http://host.cloche:" + port, true);
  const std::string up = std::to_string(options.Size(options.quick ? 50'000'000 : 200'000'000));
  const auto send = [&](Granted& box) {
    return [&box, &port, &up, host = box.Machine()] {
      return Inside(box, {"upload", host, port, up});
    };
  };
  const auto upload =
      Alternate({send(watched), send(http)}, {.warmup = 1, .rounds = options.Rounds(9, 3)});
  report.Compare(
      fmt::format("  network: one upload of {} MB, with decoys", std::stoul(up) / 1000000),
      upload[0], "without", upload[1]);

  const auto connect = Alternate({[&] {
                                    return Inside(tcp, {"connect", tcp_host, port, "200"});
                                  },
                                  [&] {
                                    return Outside({"connect", "127.0.0.1", port, "200"});
                                  }},
                                 {.warmup = 1, .rounds = options.Rounds(9, 3)});
  report.Limit("network: added to each new connection", connect[0].Median() - connect[1].Median(),
               "ms", 1);
  Requests(http, port, place, options, report);
  Held(daemon, tcp, origin, port, report);
  BenchTls(daemon, place, options, report);
}

}  // namespace cloche::bench
