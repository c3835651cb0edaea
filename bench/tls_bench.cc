#include <fmt/core.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

#include "granted.h"
#include "peer_proxy.h"
#include "series.h"

namespace cloche::bench {
namespace {

constexpr int kRequests = 10'000;  // what a measured rate is told in
constexpr const char* kPath = "/1000";

// One worker each, as cloche-egress is one thread; the same keys and protocols for all.
std::string Nginx(const std::string& place, const std::string& http) {
  return fmt::format(
      "daemon off;\nworker_processes 1;\npid {0}.pid;\nerror_log /dev/null;\n"
      "events {{ worker_connections 1024; }}\n"
      "http {{ access_log off; keepalive_requests 100000000; keepalive_timeout 600;\n"
      "client_body_temp_path {0}.body; proxy_temp_path {0}.proxy; fastcgi_temp_path {0}.f;\n"
      "uwsgi_temp_path {0}.u; scgi_temp_path {0}.s;\n"
      "ssl_protocols TLSv1.2 TLSv1.3; {1} }}\n",
      place, http);
}

std::string Listen(const std::string& keys, int port) {
  return fmt::format(
      "listen 127.0.0.1:{0} ssl; ssl_certificate {1}.crt; ssl_certificate_key {1}.key;", port,
      keys);
}

std::unique_ptr<PeerProxy> StartNginx(const std::string& config, int port) {
  return std::make_unique<PeerProxy>(Argv{FindProgram("nginx"), "-c", config, "-e", "/dev/null"},
                                     port);
}

// Milliseconds for kRequests at the rate that wrk reached.
double TimeOf(const std::string& said) {
  constexpr std::string_view kRate = "Requests/sec:";
  const size_t at = said.find(kRate);
  if (at == said.npos || said.find("Non-2xx") != said.npos ||
      said.find("Socket errors") != said.npos)
    throw std::runtime_error("wrk: " + said);
  return 1000.0 * kRequests / std::stod(said.substr(at + kRate.size()));
}

}  // namespace

void BenchTls(OwnDaemon& daemon, const std::string& place, const Options& options, Report& report) {
  const std::string promise = "network: HTTPS requests, TLS ended at the border";
  for (const char* name : {"nginx", "wrk", "openssl"})
    if (FindProgram(name).empty())
      return report.Tell("egress.tls", promise, fmt::format("{} is not installed", name));
  const std::string keys = place + "/server";
  TimeSpawn({FindProgram("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", keys + ".key", "-out", keys + ".crt",
             "-days", "2", "-subj", "/CN=host.cloche", "-addext",
             "subjectAltName=DNS:host.cloche,IP:127.0.0.1"});
  std::filesystem::copy_file(keys + ".crt", daemon.trusted(),
                             std::filesystem::copy_options::overwrite_existing);
  chmod(daemon.trusted().c_str(), 0644);

  const int origin_port = FreePort();
  const auto origin =
      StartNginx(WriteFile(place + "/origin.conf",
                           Nginx(place + "/origin",
                                 fmt::format("server {{ {} location / {{ return 200 \"{}\"; }} }}",
                                             Listen(keys, origin_port), std::string(1000, 'x')))),
                 origin_port);
  const int nginx_port = FreePort();
  const auto nginx = StartNginx(
      WriteFile(place + "/nginx.conf",
                Nginx(place + "/nginx",
                      fmt::format("upstream origin {{ server 127.0.0.1:{}; keepalive 64; "
                                  "keepalive_requests 100000000; }}\n"
                                  "server {{ {} location / {{ proxy_pass https://origin;\n"
                                  "proxy_http_version 1.1; proxy_set_header Connection \"\";\n"
                                  "proxy_ssl_protocols TLSv1.2 TLSv1.3; proxy_ssl_verify on;\n"
                                  "proxy_ssl_name host.cloche; proxy_ssl_server_name on;\n"
                                  "proxy_ssl_trusted_certificate {}.crt; }} }}",
                                  origin_port, Listen(keys, nginx_port), keys))),
      nginx_port);

  Granted box(daemon, fmt::format("GET https://host.cloche:{}", origin_port));
  const Argv wrk = {FindProgram("wrk"), "-t1", "-c16", options.quick ? "-d1s" : "-d3s"};
  const auto ask = [&](const std::string& host, int port) {
    Argv argv = wrk;
    argv.push_back(fmt::format("https://{}:{}{}", host, port, kPath));
    return argv;
  };
  const auto all = Alternate({[&] { return TimeOf(box.Run(ask("host.cloche", origin_port))); },
                              [&] { return TimeOf(Capture(ask("127.0.0.1", nginx_port))); },
                              [&] { return TimeOf(Capture(ask("127.0.0.1", origin_port))); }},
                             {.warmup = 1, .rounds = options.Rounds(7, 3)});
  report.Compare("egress.tls", promise, all[0], "nginx", all[1], 2.0);
  report.Compare("egress.tls-alone", "  " + promise + ", beside none", all[0], "no proxy", all[2]);
}

}  // namespace cloche::bench
