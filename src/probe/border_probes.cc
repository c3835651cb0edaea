#include "probe/border.h"

#include <fmt/core.h>

#include <fstream>

#include "probe/border_cases.h"

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

// Outside there is no border: whoever is named, the server itself is asked.
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

// Somebody inside says all of it. What is granted must arrive, nothing else may.
Outcome JudgeCases(Stage& stage, Origin& origin, const Words& grants, Cases cases,
                   const Case& proof, const std::string& proof_mark) {
  const size_t tries = cases.size();
  cases.push_back(proof);
  origin.Heard();
  const Ran ran =
      RunToEnd(stage.Inside(Granting(grants), "speak", SpeakWords(origin, cases, false)));
  const std::string heard = origin.HeardText();
  for (size_t i = 0; i < tries; ++i)
    if (heard.find(Mark(i)) != std::string::npos)
      return Broken(fmt::format("case {} came through: {}", i,
                                Replaced(cases[i].parts[0], "\r\n", " ").substr(0, 80)));
  if (const Words evidence = stage.Evidence(ran); !evidence.empty()) return Broken(Join(evidence));
  if (!ran.Reported()) return DidNotRun(ran);
  if (heard.find(proof_mark) == std::string::npos)
    return NoControl("what is granted did not arrive either");
  return Held(fmt::format("{} tries refused", tries));
}

Outcome JudgeCases(Stage& stage, Origin& origin, const Words& grants, const Cases& cases) {
  return JudgeCases(stage, origin, grants, cases, Direct(Get(kProof, origin.here())), kProof);
}

// A server without a border in front of it hears all of it.
Outcome ControlOutside(Stage& stage, Origin& origin, const Cases& cases) {
  origin.Heard();
  RunToEnd(stage.Outside("speak", SpeakWords(origin, cases, true)));
  const Words missing = Missing(cases, origin.HeardText());
  return missing.empty() ? Held() : NoControl("outside: " + Join(missing));
}

// With these grants it passes.
Outcome ControlGranted(Stage& stage, Origin& origin, const Words& grants, const Cases& cases) {
  origin.Heard();
  const Ran ran =
      RunToEnd(stage.Inside(Granting(grants), "speak", SpeakWords(origin, cases, false)));
  if (!ran.Reported()) return DidNotRun(ran);
  const Words missing = Missing(cases, origin.HeardText());
  return missing.empty() ? Held() : NoControl("although granted: " + Join(missing));
}

Outcome Requests(Stage& stage, Cases (*make)(const Origin&), const char* rule) {
  Origin origin(stage);
  if (!origin.started()) return NoServer();
  const Cases cases = make(origin);
  if (const Outcome control = ControlOutside(stage, origin, cases); control.Fails()) return control;
  return JudgeCases(stage, origin, {fmt::format(fmt::runtime(rule), origin.here())}, cases);
}

Outcome ProxyNames(Stage& stage) { return Requests(stage, OddNames, "http://{}"); }
Outcome Fronting(Stage& stage) { return Requests(stage, OtherHosts, "http://{}"); }
Outcome Smuggled(Stage& stage) { return Requests(stage, Smuggling, "GET http://{}/ok"); }
Outcome PathRules(Stage& stage) { return Requests(stage, Paths, "http://{}/ok"); }
Outcome MethodRules(Stage& stage) { return Requests(stage, Methods, "GET http://{}"); }
Outcome Tunnelled(Stage& stage) { return Requests(stage, Tunnels, "GET http://{}/ok"); }

Outcome TlsNames(Stage& stage) {
  Origin origin(stage);
  if (!origin.started()) return NoServer();
  const Cases cases = Hellos(origin);
  if (const Outcome control = ControlOutside(stage, origin, cases); control.Fails()) return control;
  return JudgeCases(stage, origin, {"https://" + origin.here()}, cases,
                    Direct(Hello("host.cloche", "proof-of-tls")), "proof-of-tls");
}

bool KnowsLocalhost() {
  std::ifstream hosts("/etc/hosts");
  for (std::string line; std::getline(hosts, line);)
    if (line.starts_with("127.0.0.1") && line.find("localhost") != std::string::npos) return true;
  return false;
}

constexpr const char* kNoLocalhost = "/etc/hosts does not say that localhost is 127.0.0.1";

Words LoopbackGrants(const Origin& origin) {
  return {fmt::format("tcp://127.0.0.1:{}", origin.port()),
          fmt::format("tcp://[::1]:{}", origin.port())};
}

// The address is granted, and names like it are: localhost itself is not.
Outcome NamesLikeIt(Stage& stage) {
  Origin origin(stage);
  if (!origin.started()) return NoServer();
  if (!KnowsLocalhost()) return NotHere(kNoLocalhost);
  const Cases cases = LocalhostSpellings(origin);
  Words grants = LoopbackGrants(origin);
  grants.push_back(fmt::format("http://localhost:{}", origin.port()));
  if (const Outcome control = ControlGranted(stage, origin, grants, cases); control.Fails())
    return control;
  grants.pop_back();
  for (const char* name :
       {"host.cloche", "host", "alhost", "*.localhost", "localhost.evil", "xlocalhost", "localhos",
        "localhostx", "local-host", "localhost.localhost"})
    grants.push_back(fmt::format("http://{}:{}", name, origin.port()));
  grants.push_back(fmt::format("http://localhost:{}", origin.port() ^ 1));
  return JudgeCases(stage, origin, grants, cases);
}

// The name is granted; where it leads is not.
Outcome NamesThatLeadIn(Stage& stage) {
  Origin origin(stage);
  if (!origin.started()) return NoServer();
  if (!KnowsLocalhost()) return NotHere(kNoLocalhost);
  const Cases cases = LocalhostSpellings(origin);
  Words grants = LoopbackGrants(origin);
  grants.push_back(fmt::format("http://localhost:{}", origin.port()));
  if (const Outcome control = ControlGranted(stage, origin, grants, cases); control.Fails())
    return control;
  return JudgeCases(stage, origin, {grants.back(), "http://" + origin.here()}, cases);
}

Outcome LoopbackSpelled(Stage& stage) {
  Origin origin(stage);
  if (!origin.started()) return NoServer();
  const Cases cases = AddressSpellings(origin);
  if (const Outcome control =
          ControlGranted(stage, origin, {fmt::format("tcp://127.0.0.1:{}", origin.port())}, cases);
      control.Fails())
    return control;
  return JudgeCases(stage, origin, {"http://" + origin.here(), "tcp://127.0.0.1:1"}, cases);
}

// Where no name is in between: the addresses of this machine's own interfaces.
Outcome OwnInterfaces(Stage& stage) {
  Origin origin(stage);
  if (!origin.started()) return NoServer();
  if (origin.addresses().empty()) return NotHere(kNoInterface);
  Cases cases;
  Words grants;
  for (const std::string& address : origin.addresses()) {
    const std::string there = fmt::format("{}:{}", address, origin.port());
    cases.push_back({.host = address, .parts = {Get("/forbidden", there)}});
    cases.push_back(ByConnect(address, origin.port(), Get("/forbidden", there)));
    cases.push_back(BySocksAddress(address, origin.port(), Get("/forbidden", there)));
    grants.push_back("tcp://" + there);
  }
  if (const Outcome control = ControlGranted(stage, origin, grants, cases); control.Fails())
    return control;
  grants = {"http://" + origin.here()};
  for (const std::string& address : origin.addresses())
    grants.push_back(fmt::format("tcp://{}:{}", address, origin.port() ^ 1));
  return JudgeCases(stage, origin, grants, cases);
}

using Json = nlohmann::json;

// What people write who want no network, or do not know how to say what they want.
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

Outcome NoProperRules(Stage& stage) {
  Origin origin(stage);
  if (!origin.started()) return NoServer();
  if (stage.socket().empty()) return Inconclusive("the daemon's socket was not found");
  const std::string rule = "http://" + origin.here(), name = stage.token() + "-rules";
  const Cases cases = {Direct(Get("/forbidden", origin.here()))};
  int refused = 0;
  // Whether a sandbox that is made with this reaches the server.
  const auto reaches = [&](const Json& network) {
    const Answer answer = Post(stage.socket(), "/v1/sandboxes",
                               {{"name", name}, {"cwd", stage.project()}, {"network", network}});
    origin.Heard();
    if (answer.status / 100 != 2) {
      ++refused;
      return false;
    }
    RunToEnd(stage.Inside({"exec", "-q", name}, "speak", SpeakWords(origin, cases, false)));
    RunToEnd(stage.Cli({"rm", name}));
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
    Scene("NE-03", "rules that are empty, missing or malformed", NoProperRules),
    Scene("NE-04", "names with NUL, CRLF, blanks, escapes, to CONNECT and SOCKS", ProxyNames),
    Scene("NE-05", "names that look like a granted one", NamesLikeIt),
    Scene("NE-06", "the host's loopback in 25 spellings, to CONNECT and SOCKS", LoopbackSpelled),
    Scene("NE-07", "a granted name that leads to the host's loopback", NamesThatLeadIn),
    Scene("NE-08b", "addresses of this machine's interfaces, beside a grant", OwnInterfaces),
    Scene("NE-09", "another host in Host, in the request's target, in both", Fronting),
    Scene("NE-10", "TLS for another name, for none, encrypted; no TLS", TlsNames),
    Scene("NE-11", "a second request hidden in the first", Smuggled),
    Scene("NE-12", "paths that climb out of the granted one", PathRules),
    Scene("NE-13", "methods beside the granted one, and headers that name them", MethodRules),
    Scene("NE-14", "upgrades and proxies in proxies", Tunnelled),
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
