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

// Traffic through cloche-egress, beside the same without it and beside other proxies.
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
  report.Limit("egress.held", "network: 1,000 connections at once, cloche-egress", mib, "MiB", 64);
}

struct Peer {
  std::string name;
  std::string port;
  std::unique_ptr<PeerProxy> proxy;
};

std::vector<Peer> StartPeers(const std::string& place, Report& report) {
  using Start = std::unique_ptr<PeerProxy> (*)(const std::string&, int);
  std::vector<Peer> peers;
  for (const auto& [name, start] :
       {std::pair<const char*, Start>{"squid", StartSquid}, {"tinyproxy", StartTinyproxy}}) {
    if (FindProgram(name).empty()) {
      for (const char* what : {"requests", "connect"})
        report.Tell(fmt::format("egress.{}-{}", what, name), fmt::format("network: {}", what),
                    fmt::format("{} is not installed", name));
      continue;
    }
    const int port = FreePort();
    peers.push_back({name, std::to_string(port), start(place, port)});
  }
  return peers;
}

// Ours finds out which process of which sandbox it is before the first byte: two more processes.
constexpr double kConnectBound = 6;

// A new connection with one request each. Beside the least there is, and beside other proxies.
void Connections(Granted& box, const std::string& port, const std::vector<Peer>& peers,
                 const Options& options, Report& report) {
  const std::string count = "200", host = box.Machine();
  std::vector<Once> contenders = {[&] {
                                    return Inside(box, {"connect", host, port, count, "/1"});
                                  },
                                  [&] {
                                    return Outside({"connect", "127.0.0.1", port, count, "/1"});
                                  }};
  const std::string url = fmt::format("http://127.0.0.1:{}/1", port);
  for (const Peer& peer : peers)
    contenders.push_back([&, at = peer.port] {
      return Outside({"connect", "127.0.0.1", at, count, url});
    });
  const auto all = Alternate(contenders, {.warmup = 1, .rounds = options.Rounds(9, 3)});
  const std::string promise = "network: a new connection with one request";
  report.Compare("egress.connect-alone", "  " + promise + ", beside none", all[0], "no proxy",
                 all[1]);
  for (size_t i = 0; i < peers.size(); ++i)
    report.CompareBest("egress.connect-" + peers[i].name, promise, all[0], peers[i].name,
                       all[i + 2], kConnectBound);
}

void Requests(Granted& box, const std::string& port, const std::vector<Peer>& peers,
              const Options& options, Report& report) {
  const std::string count = std::to_string(options.Size(options.quick ? 4000 : 20000));
  const std::string host = box.Machine();
  std::vector<Once> contenders = {[&] {
                                    return Inside(box, {"requests", host, port, count, "/1000"});
                                  },
                                  [&] {
                                    return Outside({"requests", "127.0.0.1", port, count, "/1000"});
                                  }};
  const std::string url = fmt::format("http://127.0.0.1:{}/1000", port);
  for (const Peer& peer : peers)
    contenders.push_back([&, at = peer.port] {
      return Outside({"requests", "127.0.0.1", at, count, url});
    });
  const auto all = Alternate(contenders, {.warmup = 1, .rounds = options.Rounds(7, 3)});
  const std::string promise = fmt::format("network: {} requests, kept connections", count);
  report.Compare("egress.requests-alone", "  " + promise + ", beside none", all[0], "no proxy",
                 all[1]);
  for (size_t i = 0; i < peers.size(); ++i)
    report.Compare("egress.requests-" + peers[i].name, promise, all[0], peers[i].name, all[i + 2],
                   0.5);
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
  report.Compare("egress.download", "network: one download", download[0], "plain loopback",
                 download[1], 1 / 0.7);

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
      "egress.upload-canaries",
      fmt::format("  network: one upload of {} MB, with decoys", std::stoul(up) / 1000000),
      upload[0], "without", upload[1]);

  const std::vector<Peer> peers = StartPeers(place, report);
  Connections(tcp, port, peers, options, report);
  Requests(http, port, peers, options, report);
  Held(daemon, tcp, origin, port, report);
  BenchTls(daemon, place, options, report);
}

}  // namespace cloche::bench
