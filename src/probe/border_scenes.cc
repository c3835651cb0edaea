#include <fmt/core.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "probe/border.h"
#include "probe/border_cases.h"
#include "probe/dial.h"
#include "probe/kept.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHost = "host.cloche";

Words Conversation(const Case& said, int port) {
  std::string parts;
  for (const std::string& part : said.parts) parts += (parts.empty() ? "" : ",") + Hex(part);
  return {said.via, said.host, std::to_string(port), parts};
}

Words Conversations(const std::vector<Words>& all) {
  Words words;
  for (const Words& each : all) words.insert(words.end(), each.begin(), each.end());
  return words;
}

bool Contains(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

// One port of the host is granted; the other is asked for by name, by proxy, and by a redirect.
ProbeResult AnotherPort(TestBed& bed, Origin& origin) {
  Origin other(bed);
  if (!other.started()) return NoServer();
  const std::string get = Get("/forbidden", other.here());
  const std::string redirect = fmt::format("/ok?to=http://{}/forbidden", other.here());
  const std::vector<Words> ways = {
      Conversation(Direct(get), other.port()),
      Conversation(ByConnect(kHost, other.port(), get), other.port()),
      Conversation(BySocks(kHost, other.port(), get), other.port()),
      Conversation({.via = "follow", .parts = {Get(redirect, origin.here())}}, origin.port())};
  const Words grants = {"http://" + origin.here(), "http://" + other.here()};
  const Ran control = RunToEnd(bed.Inside(Granting(grants), "speak", Conversations(ways)));
  if (!control.Reported()) return DidNotRun(control);
  if (const size_t came = other.Heard().size(); came < ways.size())
    return NoControl(fmt::format("although granted, {} of {} arrive", came, ways.size()));
  origin.Heard();
  const Ran ran = RunToEnd(bed.Inside(Granting({grants[0]}), "speak", Conversations(ways)));
  if (const std::string heard = other.HeardText(); !heard.empty())
    return Broken("it heard " + heard.substr(0, 80));
  if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  if (!ran.Reported()) return DidNotRun(ran);
  if (!Contains(origin.HeardText(), redirect)) return NoControl("the redirect was not asked for");
  return Held(fmt::format("{} tries refused", ways.size()));
}

// Every packet of this machine, in and out.
class Wire {
 public:
  Wire() : fd_(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL))) {
    const int room = 32 << 20;
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  }
  ~Wire() { close(fd_); }
  Wire(const Wire&) = delete;
  bool open() const { return fd_ >= 0; }

  // Names travel in capitals of any kind.
  bool Carried(const std::string& word) {
    bool found = false;
    char buffer[65536];
    for (ssize_t count; (count = recv(fd_, buffer, sizeof buffer, 0)) > 0;) {
      std::string packet(buffer, static_cast<size_t>(count));
      for (char& each : packet) each = static_cast<char>(tolower(each));
      found = found || Contains(packet, word);
    }
    return found;
  }

 private:
  int fd_;
};

ProbeResult NamesOutside(TestBed& bed, Origin& origin) {
  Wire wire;
  if (!wire.open()) return NotHere("needs root, to listen on the wire");
  const std::string label = bed.token() + "-leak", name = label + ".example.org";
  RunToEnd(bed.Outside("ask-names", {name, "127.0.0.1"}));
  if (!wire.Carried(label)) return NoControl();
  Words servers = {name, "127.0.0.1", "127.0.0.53", "8.8.8.8", "9.9.9.9"};
  std::ifstream file("/etc/resolv.conf");
  for (std::string word, address; file >> word;)
    if (word == "nameserver" && file >> address) servers.push_back(address);
  const Words grants = Granting({"http://" + origin.here(), "*.granted.example:443"});
  const Ran asked = RunToEnd(bed.Inside(grants, "ask-names", servers));
  if (!asked.Reported()) return DidNotRun(asked);
  const std::string get = Get("/", name);
  const Ran spoke = RunToEnd(bed.Inside(
      grants, "speak",
      Conversations({Conversation(ByConnect(name, 443, get), origin.port()),
                     Conversation(BySocks(name, 443, get), origin.port()),
                     Conversation({.via = "proxy", .parts = {Get("http://" + name + "/", name)}},
                                  origin.port()),
                     Conversation(Direct(get), origin.port())})));
  if (!spoke.Reported()) return DidNotRun(spoke);
  if (wire.Carried(label)) return Broken("a name that is not granted was seen on the wire");
  return Held(fmt::format("{} servers asked inside", servers.size() - 1));
}

size_t BytesHeard(Origin& origin) {
  size_t bytes = 0;
  for (const Origin::Visit& visit : origin.Heard()) bytes += visit.size;
  return bytes;
}

ProbeResult BytesUp(TestBed& bed, Origin& origin) {
  constexpr size_t kSent = 2'000'000, kLimit = 65536, kSlack = 600'000;
  const Words words = {"direct", kHost, std::to_string(origin.port()), fmt::format("61*{}", kSent)};
  Words options = Granting({"tcp://" + origin.here()});
  RunToEnd(bed.Inside(options, "speak", words));
  if (BytesHeard(origin) < kSent) return NoControl("without a limit it does not arrive");
  options.insert(options.end(), {"--net-limit", fmt::format("bytes_up={}", kLimit)});
  const Ran ran = RunToEnd(bed.Inside(options, "speak", words));
  const size_t heard = BytesHeard(origin);
  if (heard > kSlack) return Broken(fmt::format("{} bytes arrived, {} may", heard, kLimit));
  if (!ran.Reported()) return DidNotRun(ran);
  return Held(fmt::format("cut after {} of {} bytes", heard, kSent));
}

// A secret is for another port of this machine, in TLS. In clear nobody may read it, not even
// inside.
ProbeResult SecretElsewhere(TestBed& bed, Origin& origin) {
  const std::string& name = bed.token();
  const std::string value = "value-" + name + "-of-a-secret";
  const std::string header = "GET /{PROBE_TOKEN}?{PROBE_TOKEN} HTTP/1.1\r\nHost: " + origin.here() +
                             "\r\nAuthorization: Bearer {PROBE_TOKEN}\r\nConnection: close\r\n\r\n";
  const Words words =
      Conversations({Conversation(Direct(header), origin.port()),
                     Conversation(ByConnect(kHost, origin.port(), header), origin.port()),
                     Conversation(BySocks(kHost, origin.port(), header), origin.port())});
  Words options = Granting({"http://" + origin.here()});
  Words given = options;
  given.insert(given.end(), {"--env", "PROBE_TOKEN=" + value});
  RunToEnd(bed.Inside(given, "speak", words));
  if (!Contains(origin.HeardText(), value)) return NoControl("a token in a variable stays inside");
  Launch keep = bed.Cli({"secret", "set", name, "--host",
                         fmt::format("host.cloche:{}", origin.port() ^ 1), "--env", "PROBE_TOKEN"});
  keep.input = value + "\n";
  const Ran kept = RunToEnd(keep);
  if (kept.status != 0) return DidNotRun(kept);
  options.insert(options.end(), {"--secret", name});
  const Ran ran = RunToEnd(bed.Inside(options, "speak", words));
  const Ran variables = RunToEnd(bed.Inside(options, "variables", {}));
  RunToEnd(bed.Cli({"secret", "rm", name}));
  const std::string heard = origin.HeardText();
  if (Contains(heard, value)) return Broken("the value went to a host it is not for, in clear");
  if (Contains(ran.output + variables.output, value)) return Broken("the value is inside");
  if (!ran.Reported() || !variables.Reported()) return DidNotRun(ran.Reported() ? variables : ran);
  if (!Contains(variables.output, "PROBE_TOKEN=")) return NoControl("there is no placeholder");
  if (!Contains(heard, "Bearer ")) return NoControl("no request arrived");
  return Held("a placeholder arrives, which is worth nothing");
}

// One sandbox's grants are closed to another that knows its addresses.
ProbeResult GrantsOfOthers(TestBed& bed, Origin& origin) {
  const Kept granted(bed, "-granted", {"--allow", "http://" + origin.here()});
  const Kept other(bed, "-other", {"--allow", fmt::format("tcp://{}:1", kHost)});
  for (const Kept* each : {&granted, &other})
    if (!each->there()) return DidNotRun(each->made());
  const Ran asked = granted.Run("ask-names", {kHost, "127.0.0.1"});
  if (!asked.Reported()) return DidNotRun(asked);
  const std::string address = asked.report.value("found", ""), get = Get("/", origin.here());
  const Words words =
      Conversations({Conversation({.host = address, .parts = {get}}, origin.port()),
                     Conversation(Direct(get), origin.port()),
                     Conversation(ByConnect(kHost, origin.port(), get), origin.port()),
                     Conversation(ByConnect(address, origin.port(), get), origin.port())});
  granted.Run("speak", words);
  if (origin.Heard().size() < 4) return NoControl("the one that is granted does not reach it");
  const Ran ran = other.Run("speak", words);
  if (!origin.Heard().empty()) return Broken("another sandbox reached it");
  if (!ran.Reported()) return DidNotRun(ran);
  return Held("4 tries refused");
}

// A forwarded port is this machine's own business.
ProbeResult ForwardedPort(TestBed& bed) {
  const Words addresses = OwnAddresses();
  if (addresses.empty()) return NotHere(kNoInterface);
  constexpr const char* kInner = "3000";
  Running server(bed.Inside({"exec", "-q", bed.sandbox()}, "listen", {kInner}));
  if (!server.WaitForLine("ready")) return DidNotRun(server.Finish());
  Running forward(bed.Cli({"port", bed.sandbox(), kInner, "--public-as", "0"}));
  if (!forward.WaitForLine("leads")) return DidNotRun(forward.Finish());
  const std::string said = forward.TakeOutput();
  int port = 0;
  if (const size_t at = said.find("127.0.0.1:"); at != std::string::npos)
    port = atoi(said.c_str() + at + 10);
  if (!Dial(ParseAddress("127.0.0.1", port), SOCK_STREAM, 0))
    return NoControl("the port leads nowhere");
  for (const std::string& address : addresses)
    if (Dial(ParseAddress(address, port), SOCK_STREAM, 0))
      return Broken(fmt::format("it is open at {}, too", address));
  return Held(fmt::format("on loopback, closed at {}", Join(addresses)));
}

ProbeResult Hogs(TestBed& bed, Origin& origin) {
  constexpr int kMany = 1500;
  const Words words = {kHost, std::to_string(origin.port()), std::to_string(kMany)};
  {
    Running control(bed.Outside("hog", {"127.0.0.1", words[1], words[2]}));
    if (!control.WaitForLine("ready")) return NoControl();
    if (origin.Heard().size() < kMany / 2) return NoControl();
    control.Finish();
  }
  const Words grants = Granting({"http://" + origin.here()});
  Running hog(bed.Inside(grants, "hog", words));
  if (!hog.WaitForLine("ready")) return DidNotRun(hog.Finish());
  const size_t open = origin.Heard().size();
  const Ran other = RunToEnd(bed.Inside(
      grants, "speak", Conversation(Direct(Get("/other", origin.here())), origin.port())));
  const bool served = Contains(origin.HeardText(), "/other");
  const std::string problem = Unresponsive(bed);
  const Ran ran = hog.Finish();
  if (open > 0) return Broken(fmt::format("{} requests that never ended were passed on", open));
  if (!problem.empty()) return Broken(problem);
  if (!ran.Reported() || !other.Reported()) return DidNotRun(ran.Reported() ? other : ran);
  if (!served) return Broken("another sandbox is not served meanwhile");
  return Held(fmt::format("{} connections, and another sandbox is served", kMany));
}

// 0: there is no guard, or it cannot be seen.
pid_t GuardOf(int daemon) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const int pid = atoi(entry.path().filename().c_str());
    if (pid <= 0 || ReadAll(fmt::format("/proc/{}/comm", pid)) != "cloche-egress\n") continue;
    for (int parent = pid; parent > 1;) {
      const std::string stat = ReadAll(fmt::format("/proc/{}/stat", parent));
      const size_t end = stat.rfind(')');
      if (end == std::string::npos || sscanf(stat.c_str() + end, ") %*c %d", &parent) != 1) break;
      if (parent == daemon) return pid;
    }
  }
  return 0;
}

int DeathsOfGuards(const TestBed& bed) {
  const auto status =
      nlohmann::json::parse(RunToEnd(bed.Cli({"status", "--json"})).output, nullptr, false);
  return status.is_object() && status.contains("egress") ? status["egress"].value("deaths", 0) : 0;
}

// Waits for a connection that says it; a limit ends a hang.
bool Comes(Origin& origin, std::string_view what) {
  for (int i = 0; i < 1500 && !interrupted; ++i) {
    if (Contains(origin.HeardText(), what)) return true;
    poll(nullptr, 0, 20);
  }
  return false;
}

ProbeResult GuardKilled(TestBed& bed, Origin& origin) {
  const auto list =
      nlohmann::json::parse(RunToEnd(bed.Cli({"ls", "--json"})).output, nullptr, false);
  const bool alone = list.is_array() && std::ranges::all_of(list, [&](const auto& each) {
                       return each.value("name", "").starts_with(bed.token()) ||
                              each.value("state", "") != "running";
                     });
  if (!alone) return NotHere("would cut the connections of sandboxes that run");
  if (!bed.root() && bed.mode() == "system")
    return NotHere("needs root: cloche-egress is not yours to end");
  Origin other(bed);
  if (!other.started()) return NoServer();
  const std::string elsewhere = other.addresses().empty() ? kHost : other.addresses()[0];
  const Words words = {kHost, std::to_string(origin.port()), elsewhere,
                       std::to_string(other.port())};
  const std::string granted = fmt::format("tcp://{}", origin.here());
  {
    Running control(
        bed.Inside(Granting({granted, fmt::format("tcp://{}:{}", elsewhere, other.port())}),
                   "keep-trying", words));
    if (!control.WaitForLine("ready")) return DidNotRun(control.Finish());
    if (!Comes(other, "forbidden")) return NoControl("although granted, it does not arrive");
    control.Finish();
  }
  other.Heard();
  Running attack(bed.Inside(Granting({granted}), "keep-trying", words));
  if (!attack.WaitForLine("ready")) return DidNotRun(attack.Finish());
  const int deaths = DeathsOfGuards(bed);
  const pid_t guard = GuardOf(bed.daemon_pid());
  if (guard == 0 || kill(guard, SIGKILL) != 0) return NotHere("cloche-egress is not to be found");
  for (int i = 0; i < 200 && DeathsOfGuards(bed) == deaths; ++i) poll(nullptr, 0, 10);
  const std::string heard = other.HeardText();
  // Granted again once there is a guard again.
  origin.Heard();
  const bool back = Comes(origin, "forbidden");
  const Ran ran = attack.Finish();
  if (!heard.empty() || !other.Heard().empty())
    return Broken("what is not granted was reached while nobody guarded");
  if (!ran.Reported()) return DidNotRun(ran);
  if (!ran.report.value("cut", false)) return Broken("a connection outlived who guards it");
  return back ? Held("cut, nothing else opens, and guarded again")
              : Broken("what is granted is not reached again");
}

ProbeResult NoOtherProtocol(TestBed& bed, Origin& origin) {
  Words words = {std::to_string(origin.port()), "127.0.0.1"};
  for (const std::string& address : origin.addresses()) words.push_back(address);
  RunToEnd(bed.Outside("no-tcp", words));
  if (!Contains(origin.HeardText(), "forbidden")) return NoControl();
  const Kept sandbox(bed, "-udp", {"--allow", "http://" + origin.here()});
  if (!sandbox.there()) return DidNotRun(sandbox.made());
  const Ran asked = sandbox.Run("ask-names", {kHost, "127.0.0.1"});
  if (!asked.Reported()) return DidNotRun(asked);
  if (const std::string address = asked.report.value("found", ""); !address.empty())
    words.push_back(address);
  else
    return NoControl("the granted name has no address");
  const Ran ran = sandbox.Run("no-tcp", words);
  if (const std::string heard = origin.HeardText(); Contains(heard, "forbidden"))
    return Broken(heard.substr(0, 80));
  if (!ran.Reported()) return DidNotRun(ran);
  return Held(fmt::format("{} tries refused", ran.report["refused"].get<int>()));
}

// Base64 of a certificate, without its frame.
std::string BodyOf(const std::string& certificate) {
  const size_t begin = certificate.find('\n'), end = certificate.find("\n-----END");
  return begin < end && end != std::string::npos ? certificate.substr(begin, end - begin) : "";
}

ProbeResult AuthorityKey(TestBed& bed) {
  const Kept sandbox(bed, "-tls", {"--allow", "GET https://granted.example/v1"});
  if (!sandbox.there()) return DidNotRun(sandbox.made());
  const Words places = {bed.state_directory(), bed.state_directory() + "/daemon/authorities"};
  std::string note;
  const Ran control = RunToEnd(bed.Outside("find-keys", places));
  if (control.Reported() && control.report["got"].empty()) {
    if (bed.root() || bed.mode() != "system") return NoControl();
    note = "; no control: the daemon's state is not yours to read";
  }
  const Ran ran = sandbox.Run("find-keys", places);
  if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  if (!ran.Reported()) return DidNotRun(ran);
  const std::string own = BodyOf(ran.report.value("data", ""));
  if (own.empty()) return Inconclusive("the sandbox has no authority");
  for (const char* bundle :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"})
    if (Contains(ReadAll(bundle, 8 << 20), own))
      return Broken(fmt::format("{} of the host believes it", bundle));
  return Held("not inside, and the host does not believe it" + note);
}

// Whether a process of that name has a connection open. The daemon finds that out after a while.
bool Names(const TestBed& bed, const Kept& sandbox, std::string_view process) {
  for (int i = 0; i < 300 && !interrupted; ++i) {
    if (Contains(RunToEnd(bed.Cli({"net", sandbox.name(), "--json"})).output, process)) return true;
    poll(nullptr, 0, 20);
  }
  return false;
}

// Names from inside, of hosts and of processes, end up on a terminal.
ProbeResult ForgedLog(TestBed& bed, Origin& origin) {
  using namespace std::string_literals;
  const std::string bad = "evil\x1b[31m\nforged.test", get = Get("/", bad);
  const std::string path = Get("/\x1b[31m\nforged", origin.here());
  const std::string agent =
      fmt::format("GET / HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\n\r\n", origin.here(), bad);
  std::vector<Words> all;
  for (const Case& each :
       {ByConnect(bad, 80, get), BySocks(bad, 80, get), Direct(get), Direct(path), Direct(agent),
        Direct(Hello(bad, "x")), Case{.host = "198.51.100.7", .parts = {"x"}}})
    all.push_back(Conversation(each, origin.port()));
  const Words words = Conversations(all);
  Words outside = words;
  for (size_t i = 1; i < outside.size(); i += 4) outside[i] = "127.0.0.1";
  RunToEnd(bed.Outside("speak-as-forger", outside));
  if (!Contains(origin.HeardText(), "\x1b")) return NoControl();
  const Kept sandbox(bed, "-log", {"--allow", "http://" + origin.here()});
  if (!sandbox.there()) return DidNotRun(sandbox.made());
  Running forger(bed.Inside(sandbox.way_in(), "speak-as-forger", words));
  if (!forger.WaitForLine("ready")) return DidNotRun(forger.Finish());
  if (!Names(bed, sandbox, R"("process":"\u001b)"))
    return NoControl("nobody says whose connection it is");
  const Ran ran = forger.Finish();
  if (!ran.Reported()) return DidNotRun(ran);
  const Ran asked = sandbox.Run("ask-names", {"ev\x1b[31mil.example", "127.0.0.1"});
  if (!asked.Reported()) return DidNotRun(asked);
  int lines = 0;
  for (const Words& shown : {Words{"net", sandbox.name(), "log"}, Words{"net", sandbox.name()},
                             Words{"net", sandbox.name(), "log", "--json"}}) {
    const Ran log = RunToEnd(bed.Cli(shown));
    if (log.status != 0) return DidNotRun(log);
    if (Contains(log.output + log.errors, "\x1b")) return Broken("an escape reaches the terminal");
    std::istringstream text(log.output);
    for (std::string line; std::getline(text, line); ++lines)
      if (line.starts_with("forged")) return Broken("a line of the log is forged");
  }
  return lines > 5 ? Held(fmt::format("{} lines, all our own", lines))
                   : NoControl("the log has nothing to show");
}

constexpr Probe kScenes[] = {
    Scene("NE-15", "another port of the host, by name, by proxy, by redirect",
          WithServer<AnotherPort>),
    Scene("NE-16b", "a name that is not granted, asked for outside", WithServer<NamesOutside>),
    Scene("NE-17", "more bytes up than granted", WithServer<BytesUp>),
    Scene("NE-19", "a secret towards another host, in clear", WithServer<SecretElsewhere>),
    Scene("NE-20b", "what another sandbox was granted", WithServer<GrantsOfOthers>),
    Scene("NE-21b", "a forwarded port, from the network", ForwardedPort),
    Scene("NE-23", "1500 requests that never end", WithServer<Hogs>),
    Scene("NE-24", "cloche-egress killed", WithServer<GuardKilled>),
    Scene("NE-25b", "UDP, QUIC, ICMP, SCTP, raw sockets, beside a grant",
          WithServer<NoOtherProtocol>),
    Scene("NE-27", "the key of the sandbox's authority, and who believes it", AuthorityKey),
    Scene("NE-28", "escapes and line breaks in names, paths, headers, in the log",
          WithServer<ForgedLog>),
};

}  // namespace

std::span<const Probe> BorderScenes() { return kScenes; }

}  // namespace cloche::probe
