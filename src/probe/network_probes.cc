#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "probe/probe.h"

namespace cloche::probe {
namespace {

Words Ports(const TestBed& bed, Site) {
  Ears& ears = bed.ears();
  return {std::to_string(ears.tcp_port()), std::to_string(ears.udp_port())};
}

Words Sockets(const TestBed&, Site) { return DaemonSockets(); }

const char* NoRoute(const TestBed&) {
  return ReadAll("/proc/net/route").find("\t00000000\t") == std::string::npos
             ? "this machine itself has no default route"
             : nullptr;
}

Words Outside(const TestBed&, Site) {
  return {"192.0.2.77",           "8.8.8.8",         "10.0.0.1",
          "172.17.0.1",           "192.168.1.1",     "169.254.169.254",
          "100.100.100.200",      "224.0.0.251",     "fd00:ec2::254",
          "2001:4860:4860::8888", "64:ff9b::808:808"};
}

// One address of every range that has a meaning of its own, loopback apart.
Words Reserved(const TestBed&, Site) {
  return {"0.1.2.3",       "100.64.0.1",  "192.0.0.9",       "192.0.2.1",  "192.31.196.1",
          "192.52.193.1",  "192.88.99.1", "192.175.48.1",    "198.18.0.1", "198.51.100.1",
          "203.0.113.1",   "233.252.0.1", "239.255.255.250", "240.0.0.1",  "255.255.255.255",
          "64:ff9b:1::1",  "100::1",      "2001::1",         "2001:20::1", "2001:db8::1",
          "2002:7f00:1::", "3fff::1",     "5f00::1",         "fc00::1",    "fd00::1",
          "fec0::1",       "ff02::1",     "::ffff:8.8.8.8"};
}

// The name servers of this machine, and well-known ones that careless programs ask.
Words NameServers(const TestBed&, Site) {
  Words servers = {"1.1.1.1", "9.9.9.9", "2606:4700:4700::1111"};
  std::ifstream file("/etc/resolv.conf");
  for (std::string word, address; file >> word;)
    if (word == "nameserver" && file >> address && !address.starts_with("127.") && address != "::1")
      servers.push_back(address);
  return servers;
}

int FreePort() {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof any;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)!bind(fd, reinterpret_cast<sockaddr*>(&any), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&any), &size);
  close(fd);
  return ntohs(any.sin_port);
}

bool CanConnect(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(port));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  close(fd);
  return connected;
}

ProbeResult Inbound(TestBed& bed) {
  const int port = FreePort();
  const Words words = {std::to_string(port)};
  {
    Running control(bed.At(Site::kBare, "listen", words));
    if (!control.WaitForLine("ready") || !CanConnect(port)) return NoControl();
    control.Finish();
  }
  for (const Site place : {Site::kRun, Site::kExec, Site::kDirectory}) {
    Running attack(bed.At(place, "listen", words));
    if (!attack.WaitForLine("ready")) return DidNotRun(attack.Finish());
    if (CanConnect(port)) return Broken("a port opened inside is open on the host");
    const Ran ran = attack.Finish();
    if (!ran.Reported()) return DidNotRun(ran);
  }
  return Held();
}

// Each sandbox has a loopback of its own.
ProbeResult OtherSandboxes(TestBed& bed) {
  const std::string port = std::to_string(FreePort());
  {
    Running listener(bed.Outside("listen", {port}));
    if (!listener.WaitForLine("ready")) return NoControl();
    if (RunToEnd(bed.Outside("dial-loopback", {port})).report["got"].empty()) return NoControl();
    listener.Finish();
  }
  Running listener(bed.Inside({"exec", "-q", bed.sandbox()}, "listen", {port}));
  if (!listener.WaitForLine("ready")) return DidNotRun(listener.Finish());
  const Ran own = RunToEnd(bed.Inside({"exec", "-q", bed.sandbox()}, "dial-loopback", {port}));
  if (!own.Reported() || own.report["got"].empty())
    return NoControl("the sandbox does not reach its own loopback");
  const Ran other = RunToEnd(bed.Inside({"run", "-q"}, "dial-loopback", {port}));
  if (const Words evidence = bed.Evidence(other); !evidence.empty()) return Broken(Join(evidence));
  return other.Reported() ? Held() : DidNotRun(other);
}

// Variables that send programs to a proxy lead nowhere, even when they are passed on purpose.
ProbeResult ProxyVariables(TestBed& bed) {
  Words variables, options = {"run", "-q"};
  for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"})
    variables.push_back(fmt::format("{}=http://127.0.0.1:{}", name, bed.ears().tcp_port()));
  for (const std::string& variable : variables) options.insert(options.end(), {"--env", variable});
  Launch control = bed.Outside("proxies", {});
  control.environment = variables;
  RunToEnd(control);
  if (bed.ears().Heard().empty()) return NoControl();
  Launch launch = bed.Inside(options, "proxies", {});
  launch.environment = variables;
  const Ran ran = RunToEnd(launch);
  if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  if (!ran.Reported()) return DidNotRun(ran);
  return Held(fmt::format("{} tries refused", ran.report["refused"].get<int>()));
}

// A grant opens what it names: everything else stays as closed as without it.
ProbeResult BesideAGrant(TestBed& bed) {
  const Words ports = Ports(bed, Site::kBare);
  for (const char* attack : {"host-loopback", "odd-protocols"}) {
    RunToEnd(bed.Outside(attack, ports));
    if (bed.ears().Heard().empty()) return NoControl();
    const Ran ran =
        RunToEnd(bed.Inside({"run", "-q", "--allow", "granted.example:443"}, attack, ports));
    if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  return Held();
}

constexpr Probe kNetwork[] = {
    {"NE-01", "a route to public, private, metadata and multicast addresses", "routes", Outside,
     Site::kBare, NoRoute},
    {"NE-02", "services on the host's loopback, 12 spellings, TCP and UDP", "host-loopback", Ports},
    {"NE-08", "a route to each of 28 reserved ranges", "routes", Reserved, Site::kBare, NoRoute},
    {"NE-16", "a route to name servers", "routes", NameServers, Site::kBare, NoRoute},
    Scene("NE-20", "a service of another sandbox", OtherSandboxes),
    Scene("NE-21", "a port opened inside, asked for from the host", Inbound),
    {"NE-22", "Cloche's own control sockets", "path-sockets", Sockets},
    {"NE-25", "UDP, IPv6, multipath TCP, SCTP, SMC", "odd-protocols", Ports},
    Scene("NE-26", "proxies named by variables", ProxyVariables),
    Scene("NE-30", "the host's loopback and odd protocols, beside a grant", BesideAGrant),
};

constexpr Promise kPromises[] = {{"nothing goes out and nothing comes in", kNetwork}};

}  // namespace

std::span<const Promise> NetworkPromises() { return kPromises; }

}  // namespace cloche::probe
