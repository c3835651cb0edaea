#include "probe/border.h"

#include <fmt/core.h>

#include <fstream>

#include "probe/border_cases.h"
#include "probe/kept.h"

namespace cloche::probe {
namespace {

constexpr const char* kProof = "/ok/proof";

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// As long as "forbidden", which lengths count on.
std::string Mark(size_t number) { return fmt::format("forbid-{:02}", number); }

// Outside there is no border: the server itself is asked, whatever name is used.
Words SpeakWords(const Origin& origin, const Cases& cases, bool outside) {
  Words words;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string said;
    for (const std::string& part : cases[i].parts)
      said += (said.empty() ? "" : ",") + Hex(Replaced(part, "forbidden", Mark(i)));
    words.insert(words.end(), {cases[i].via, outside ? "127.0.0.1" : cases[i].host,
                               std::to_string(origin.port()), said});
  }
  return words;
}

Words Missing(const Cases& cases, const std::string& heard) {
  Words missing;
  for (size_t i = 0; i < cases.size(); ++i)
    if (cases[i].control && heard.find(Mark(i)) == std::string::npos)
      missing.push_back(fmt::format("case {}", i));
  return missing;
}

// A granted request, which must arrive.
struct Proof {
  Case said;
  std::string mark;
};

Proof AnyRequest(const Origin& origin) { return {Direct(Get(kProof, origin.here())), kProof}; }

// All of it arrives with these grants, or without any where there is no border.
ProbeResult Control(TestBed& bed, Origin& origin, const Words& grants, const Cases& cases) {
  const bool outside = grants.empty();
  const Words words = SpeakWords(origin, cases, outside);
  origin.Heard();
  const Ran ran = RunToEnd(outside ? bed.Outside("speak", words)
                                   : bed.Inside(Granting(grants), "speak", words));
  if (!ran.Reported()) return DidNotRun(ran);
  const Words missing = Missing(cases, origin.HeardText());
  return missing.empty()
             ? Held()
             : NoControl((outside ? "outside: " : "although granted: ") + Join(missing));
}

// A program inside says all of it. The granted request must arrive, and nothing else.
ProbeResult Judge(TestBed& bed, Origin& origin, const Words& way_in, Cases cases,
                  const Proof& proof) {
  const size_t tries = cases.size();
  cases.push_back(proof.said);
  origin.Heard();
  const Ran ran = RunToEnd(bed.Inside(way_in, "speak", SpeakWords(origin, cases, false)));
  const std::string heard = origin.HeardText();
  for (size_t i = 0; i < tries; ++i)
    if (heard.find(Mark(i)) != std::string::npos)
      return Broken(fmt::format("case {} came through: {}", i,
                                Replaced(cases[i].parts[0], "\r\n", " ").substr(0, 80)));
  if (const Words evidence = bed.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  if (!ran.Reported()) return DidNotRun(ran);
  if (heard.find(proof.mark) == std::string::npos)
    return NoControl("what is granted did not arrive either");
  return Held(fmt::format("{} tries refused", tries));
}

// Cases that pass with the grants of the control, and must not with the others.
ProbeResult Try(TestBed& bed, Origin& origin, const Cases& cases, const Words& control,
                const Words& grants, const Proof& proof) {
  const ProbeResult fired = Control(bed, origin, control, cases);
  return fired.Fails() ? fired : Judge(bed, origin, Granting(grants), cases, proof);
}

template <Cases (*kMake)(const Origin&)>
ProbeResult Requests(TestBed& bed, Origin& origin, const char* rule) {
  const Words grants = {fmt::format(fmt::runtime(rule), origin.here())};
  return Try(bed, origin, kMake(origin), {}, grants, AnyRequest(origin));
}

ProbeResult ProxyNames(TestBed& s, Origin& origin) {
  return Requests<OddNames>(s, origin, "http://{}");
}
ProbeResult Fronting(TestBed& s, Origin& origin) {
  return Requests<OtherHosts>(s, origin, "http://{}");
}
ProbeResult Smuggled(TestBed& s, Origin& origin) {
  return Requests<Smuggling>(s, origin, "GET http://{}/ok");
}
ProbeResult PathRules(TestBed& s, Origin& origin) {
  return Requests<Paths>(s, origin, "http://{}/ok");
}
ProbeResult MethodRules(TestBed& s, Origin& origin) {
  return Requests<Methods>(s, origin, "GET http://{}");
}
ProbeResult Tunnelled(TestBed& s, Origin& origin) {
  return Requests<Tunnels>(s, origin, "GET http://{}/ok");
}

ProbeResult TlsNames(TestBed& bed, Origin& origin) {
  return Try(bed, origin, Hellos(origin), {}, {"https://" + origin.here()},
             {Direct(Hello("host.cloche", "proof-of-tls")), "proof-of-tls"});
}

bool KnowsLocalhost() {
  std::ifstream hosts("/etc/hosts");
  for (std::string line; std::getline(hosts, line);)
    if (line.starts_with("127.0.0.1") && line.find("localhost") != std::string::npos) return true;
  return false;
}

constexpr const char* kNoLocalhost = "/etc/hosts does not say that localhost is 127.0.0.1";

// The name and where it leads.
Words LocalhostGrants(const Origin& origin) {
  Words grants;
  for (const char* rule : {"tcp://127.0.0.1:{}", "tcp://[::1]:{}", "http://localhost:{}"})
    grants.push_back(fmt::format(fmt::runtime(rule), origin.port()));
  return grants;
}

// The address is granted, and names like it are: localhost itself is not.
ProbeResult NamesLikeIt(TestBed& bed, Origin& origin) {
  if (!KnowsLocalhost()) return NotHere(kNoLocalhost);
  const Words control = LocalhostGrants(origin);
  Words grants(control.begin(), control.end() - 1);
  for (const char* name :
       {"host.cloche", "host", "alhost", "*.localhost", "localhost.evil", "xlocalhost", "localhos",
        "localhostx", "local-host", "localhost.localhost"})
    grants.push_back(fmt::format("http://{}:{}", name, origin.port()));
  grants.push_back(fmt::format("http://localhost:{}", origin.port() ^ 1));
  return Try(bed, origin, LocalhostSpellings(origin), control, grants, AnyRequest(origin));
}

// The name is granted; where it leads is not.
ProbeResult NamesThatLeadIn(TestBed& bed, Origin& origin) {
  if (!KnowsLocalhost()) return NotHere(kNoLocalhost);
  const Words control = LocalhostGrants(origin);
  const Words grants = {control.back(), "http://" + origin.here()};
  return Try(bed, origin, LocalhostSpellings(origin), control, grants, AnyRequest(origin));
}

ProbeResult LoopbackSpelled(TestBed& bed, Origin& origin) {
  const Words control = {fmt::format("tcp://127.0.0.1:{}", origin.port())};
  const Words grants = {"http://" + origin.here(), "tcp://127.0.0.1:1"};
  return Try(bed, origin, AddressSpellings(origin), control, grants, AnyRequest(origin));
}

// Where no name is in between: the addresses of this machine's own interfaces.
ProbeResult OwnInterfaces(TestBed& bed, Origin& origin) {
  if (origin.addresses().empty()) return NotHere(kNoInterface);
  Cases cases;
  Words control, grants = {"http://" + origin.here()};
  for (const std::string& address : origin.addresses()) {
    const std::string there = fmt::format("{}:{}", address, origin.port());
    cases.push_back({.host = address, .parts = {Get("/forbidden", there)}});
    cases.push_back(ByConnect(address, origin.port(), Get("/forbidden", there)));
    cases.push_back(BySocksAddress(address, origin.port(), Get("/forbidden", there)));
    control.push_back("tcp://" + there);
    grants.push_back(fmt::format("tcp://{}:{}", address, origin.port() ^ 1));
  }
  return Try(bed, origin, cases, control, grants, AnyRequest(origin));
}

// The decoy that a program inside reads where credentials are. Empty: there is none.
std::string DecoyIn(const TestBed& bed, const Kept& sandbox) {
  Words words = sandbox.way_in();
  words.insert(words.end(), {"--", "sh", "-c", "cat ~/.aws/credentials"});
  const std::string text = RunToEnd(bed.Cli(words)).output, key = "aws_secret_access_key = ";
  const size_t at = text.find(key);
  if (at == std::string::npos) return "";
  return text.substr(at + key.size(), text.find('\n', at) - at - key.size());
}

// A sandbox without decoys may say the same.
ProbeResult DecoysLeave(TestBed& bed, Origin& origin) {
  Origin raw(bed);
  if (!raw.started()) return NoServer();
  const std::string http = "http://" + origin.here(), tcp = "tcp://" + raw.here();
  const Kept sandbox(bed, "-decoys", {"--canaries", "--allow", http, "--allow", tcp});
  if (!sandbox.there() && sandbox.made().errors.find("takes Linux 6.6") != std::string::npos)
    return NotHere("rootless decoys take Linux 6.6");
  if (!sandbox.there()) return DidNotRun(sandbox.made());
  const std::string decoy = DecoyIn(bed, sandbox);
  if (decoy.empty()) return NoControl("there is no decoy in ~/.aws/credentials");
  const Cases said = Leaks(origin, decoy), pieces = LeaksInPieces(decoy);
  for (const auto& [at, cases] : {std::pair(&origin, &said), std::pair(&raw, &pieces)})
    if (const ProbeResult control = Control(bed, *at, {http, tcp}, *cases); control.Fails())
      return control;
  const ProbeResult outcome =
      Judge(bed, raw, sandbox.way_in(), pieces, {Direct("proof-of-bytes"), "proof-of-bytes"});
  return outcome.Fails() ? outcome : Judge(bed, origin, sandbox.way_in(), said, AnyRequest(origin));
}

using Json = nlohmann::json;

// Mistakes of people who want no network, or do not know how to say what they want.
std::vector<Json> BadNetworks(const std::string& rule, int port) {
  const Json good = {{"action", "allow"}, {"rule", rule}};
  const auto with_rules = [](const Json& rules) { return Json{{"rules", rules}}; };
  const auto with_rule = [&](const Json& text) {
    const Json each = {{"action", "allow"}, {"rule", text}};
    return with_rules(Json::array({each}));
  };
  const auto with_object = [&](const Json& each) { return with_rules(Json::array({each})); };
  const Json denied = {{"action", "deny"}, {"rule", rule}};
  return {Json(nullptr),
          Json(""),
          Json::array(),
          Json::array({good}),
          Json(true),
          Json("*"),
          Json::object(),
          Json{{"allow", Json::array({rule})}},
          Json{{"rule", Json::array({good})}},
          Json{{"Rules", Json::array({good})}},
          with_rules(Json::array()),
          with_rules(nullptr),
          with_rules(""),
          with_rules(good),
          with_rules(rule),
          with_object(rule),
          with_object(nullptr),
          with_object(Json::object()),
          with_rule(nullptr),
          with_rule(""),
          with_rule("*"),
          with_rule("http://*"),
          with_rule(fmt::format("*:{}", port)),
          with_rule(" " + rule),
          with_rule(rule + " "),
          with_rule(rule + "\n"),
          with_rule("http://" + rule),
          with_rule("host.cloche"),
          with_rule(rule + "x"),
          with_object({{"action", "ALLOW"}, {"rule", rule}}),
          with_object({{"action", nullptr}, {"rule", rule}}),
          with_object({{"action", "allow"}, {"rule", rule}, {"more", 1}}),
          with_rules(Json::array({good, denied}))};
}

ProbeResult NoProperRules(TestBed& bed, Origin& origin) {
  if (bed.socket().empty()) return Inconclusive("the daemon's socket was not found");
  const std::string rule = "http://" + origin.here(), name = bed.token() + "-rules";
  const Cases cases = {Direct(Get("/forbidden", origin.here()))};
  int refused = 0;
  // Whether a sandbox that is made with this reaches the server.
  const auto reaches = [&](const Json& network) {
    const Answer answer = Post(bed.socket(), "/v1/sandboxes",
                               {{"name", name}, {"cwd", bed.project()}, {"network", network}});
    origin.Heard();
    if (answer.status / 100 != 2) {
      ++refused;
      return false;
    }
    RunToEnd(bed.Inside({"exec", "-q", name}, "speak", SpeakWords(origin, cases, false)));
    RunToEnd(bed.Cli({"rm", name}));
    return origin.HeardText().find(Mark(0)) != std::string::npos;
  };
  const Json good = {{"action", "allow"}, {"rule", rule}};
  if (!reaches(Json{{"rules", Json::array({good})}}))
    return NoControl("a proper rule does nothing");
  const std::vector<Json> bad = BadNetworks(rule, origin.port());
  for (const Json& network : bad)
    if (!interrupted && reaches(network)) return Broken("granted by " + network.dump());
  return Held(
      fmt::format("{} refused, {} grant nothing", refused, static_cast<int>(bad.size()) - refused));
}

constexpr Probe kRules[] = {
    Scene("NE-03", "rules that are empty, missing or malformed", WithServer<NoProperRules>),
    Scene("NE-04", "names with NUL, CRLF, blanks, escapes, to CONNECT and SOCKS",
          WithServer<ProxyNames>),
    Scene("NE-05", "names that look like a granted one", WithServer<NamesLikeIt>),
    Scene("NE-06", "the host's loopback in 25 spellings, to CONNECT and SOCKS",
          WithServer<LoopbackSpelled>),
    Scene("NE-07", "a granted name that leads to the host's loopback", WithServer<NamesThatLeadIn>),
    Scene("NE-08b", "addresses of this machine's interfaces, beside a grant",
          WithServer<OwnInterfaces>),
    Scene("NE-09", "another host in Host, in the request's target, in both", WithServer<Fronting>),
    Scene("NE-10", "TLS for another name, for none, encrypted; no TLS", WithServer<TlsNames>),
    Scene("NE-11", "a second request hidden in the first", WithServer<Smuggled>),
    Scene("NE-12", "paths that climb out of the granted one", WithServer<PathRules>),
    Scene("NE-13", "methods beside the granted one, and headers that name them",
          WithServer<MethodRules>),
    Scene("NE-14", "upgrades and proxies in proxies", WithServer<Tunnelled>),
    Scene("NE-18", "a decoy on its way out, in 22 forms", WithServer<DecoysLeave>),
};

}  // namespace

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

Words Granting(const Words& rules) {
  Words options = {"run", "-q"};
  for (const std::string& rule : rules) options.insert(options.end(), {"--allow", rule});
  return options;
}

std::span<const Promise> BorderPromises() {
  static const Promise promises[] = {{"what is granted is reached, and nothing beside it", kRules},
                                     {"a granted network stays inside its border", BorderScenes()}};
  return promises;
}

}  // namespace cloche::probe
