#include "egress_targets.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "egress/canary_scanner.h"
#include "egress/client_hello.h"
#include "egress/control.h"
#include "egress/dns_message.h"
#include "egress/h2_message.h"
#include "egress/host_name.h"
#include "egress/http_body.h"
#include "egress/http_head.h"
#include "egress/redactor.h"
#include "egress/rule_text.h"
#include "egress/server_certificate.h"
#include "egress/socks.h"
#include "fuzz.h"

namespace cloche::fuzz {
namespace {

using namespace egress;

void RequireNormal(std::string_view name) {
  const auto again = NormaliseHost(name);
  Require(again && *again == name, "a name that was read is normal", std::string(name));
  Require(name.find_first_of(std::string_view("\0\r\n /@:%\\", 9)) == name.npos,
          "a name has nothing in it that ends one", std::string(name));
}

bool ReadDns(std::string_view bytes) {
  const std::string question = MakeDnsQuestion(0x0102, "a.example", kDnsA);
  const auto answer = ParseDnsAnswer(bytes, question);
  if (answer) Require(answer->addresses.size() <= 64, "addresses are bounded");
  const auto query = ParseDnsQuery(bytes);
  if (!query) return answer.has_value();
  if (!query->name.empty()) RequireNormal(query->name);
  const std::string reply = MakeDnsAnswer(*query, kDnsNoError, {Ipv4(1, 2, 3, 4)}, 9);
  if (query->refuse_with != 0 || query->type != kDnsA) return answer.has_value();
  const auto back = ParseDnsAnswer(reply, bytes);
  Require(back && back->addresses.size() == 1, "an answer of ours answers the question");
  return true;
}

// A decoy is found or not, in whatever pieces, and nothing that was said before hides one. The
// exceptions: what can be looked at no further, and what is in more than four compressed streams
// at once.
bool ReadCanary(std::string_view bytes) {
  static const auto set = *CanarySet::Make(
      {{"aws", "AKIAQ3EGRT7YUIOPLKJH"}, {"github", "ghp_0Zb1yXc2WdVe3UfTg4ShR5iQjP6kOl7NmAnB"}});
  CanaryScanner whole(set), pieces(set), after(set);
  const bool found = whole.Feed(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) pieces.Feed(bytes.substr(i, 1));
  const auto in_clear = [](const CanaryScanner& scanner) {
    return scanner.hit() && scanner.hit()->form.find("gzip") == std::string::npos &&
           scanner.hit()->form.find("deflate") == std::string::npos;
  };
  const auto stopped = [](const CanaryScanner& scanner) {
    return scanner.hit() || *scanner.trouble() != '\0';
  };
  Require(!in_clear(whole) || stopped(pieces), "a decoy is found in pieces");
  Require(!in_clear(pieces) || stopped(whole), "a decoy is found as a whole");
  after.Feed(bytes);
  Require(after.Feed("!AKIAQ3EGRT7YUIOPLKJH"), "nothing hides what comes after");
  const std::string shown = WithoutCanary(set, std::string(bytes));
  Require(!FindCanary(set, shown.starts_with("...") ? shown.substr(3) : shown),
          "a name for the log spells none");
  return found;
}

bool ReadHello(std::string_view bytes) {
  ClientHello whole, pieces;
  whole.Feed(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) pieces.Feed(bytes.substr(i, 1));
  Require(whole.state() == pieces.state() && whole.name() == pieces.name() &&
              whole.encrypted() == pieces.encrypted(),
          "a hello is the same in any pieces");
  return whole.state() == ClientHello::State::kDone;
}

bool ReadCertificate(std::string_view bytes) {
  ServerCertificate whole, pieces;
  whole.Feed(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) pieces.Feed(bytes.substr(i, 1));
  Require(whole.state() == pieces.state() && whole.der() == pieces.der(),
          "a certificate is the same in any pieces");
  const bool found = whole.state() == ServerCertificate::State::kFound;
  Require(found == !whole.der().empty(), "a certificate that was found is there");
  Require(whole.der().size() <= ServerCertificate::kMostMessage, "a certificate is bounded");
  return found;
}

// Covers a value in any of its spellings, wherever it stands, and loses no byte.
bool Redact(std::string_view bytes) {
  const std::string value(bytes.substr(0, bytes.find('\n')));
  const std::string_view rest = bytes.substr(std::min(value.size() + 1, bytes.size()));
  const auto needles = std::make_shared<const Needles>(std::vector<std::string>{value});
  const std::string whole = Redactor::All(needles, rest);
  Require(whole.size() == rest.size(), "a redaction keeps every byte");
  Redactor pieces(needles);
  std::string again;
  for (size_t i = 0; i < rest.size(); ++i) again += pieces.Feed(rest.substr(i, 1));
  Require(again + pieces.End() == whole, "a redaction is the same in any pieces");
  if (value.size() < 8 || value.find('*') != value.npos) return false;
  for (const std::string& spelled : {value, JsonText(value), PercentEncoded(value)}) {
    const std::string text = std::string(rest) + " " + spelled + " ";
    Require(Redactor::All(needles, text).find(spelled) == text.npos, "a value is covered", text);
  }
  for (const char* mark : {"%", "\\", "\\u00", "%4"}) {
    const std::string text = std::string(rest) + mark + value;
    Require(Redactor::All(needles, text).find(value) == text.npos,
            "a value is covered, with anything before it", text);
  }
  return true;
}

void ReadBody(std::string_view bytes) {
  ChunkedBody whole, pieces;
  std::string content, again;
  const size_t used = whole.Feed(bytes, &content);
  size_t steps = 0;
  while (steps < bytes.size() && !pieces.done() && !pieces.bad())
    steps += pieces.Feed(bytes.substr(steps, 1), &again);
  Require(used == steps && whole.done() == pieces.done() && whole.bad() == pieces.bad() &&
              content == again,
          "a body is the same in any pieces");
}

bool ReadHttp(std::string_view bytes) {
  ReadBody(bytes);
  size_t from = 0, slow = 0;
  const HeadEnd end = FindHeadEnd(bytes, from);
  for (size_t i = 0; i < bytes.size() && end == HeadEnd::kFound && slow < from; ++i)
    (void)FindHeadEnd(bytes.substr(0, i + 1), slow);
  if (end != HeadEnd::kFound) return false;
  Require(slow == from, "a head ends at the same place in any pieces");
  const std::string_view head = bytes.substr(0, from);
  ReadBody(bytes.substr(from));
  if (const auto response = ParseResponseHead(head, "GET")) {
    const auto again = ParseResponseHead(WriteResponseHead(*response), "GET");
    Require(again && again->status == response->status && again->framing == response->framing &&
                again->length == response->length,
            "a response is the same when it is written again");
  }
  const auto request = ParseRequestHead(head);
  if (!request) return false;
  const std::string written = WriteRequestHead(*request);
  Require(written.find('\0') == written.npos, "no zero byte passes");
  if (request->method == "CONNECT") return true;
  const auto again = ParseRequestHead(written);
  Require(again && again->method == request->method && again->path == request->path &&
              again->framing == request->framing && again->length == request->length &&
              again->headers.size() == request->headers.size() && again->authority.empty(),
          "a request is the same when it is written again", written);
  return true;
}

// Fields as 0x1f and 0x1e separate them: name, value, name, value.
H2Fields FieldsIn(std::string_view bytes) {
  H2Fields fields;
  while (!bytes.empty()) {
    const std::string_view field = bytes.substr(0, bytes.find('\x1e'));
    const size_t middle = std::min(field.find('\x1f'), field.size());
    fields.push_back({std::string(field.substr(0, middle)),
                      std::string(field.substr(std::min(middle + 1, field.size())))});
    bytes.remove_prefix(std::min(field.size() + 1, bytes.size()));
  }
  return fields;
}

void RequirePlain(const H2Fields& fields) {
  for (const Header& field : fields) {
    Require((field.name + field.value).find_first_of(std::string_view("\r\n\0", 3)) ==
                std::string::npos,
            "no field ends a line", field.name);
    Require(field.name != "transfer-encoding" && field.name != "connection" &&
                field.name != "upgrade" && field.name != "host",
            "no field is about a connection", field.name);
  }
}

bool ReadH2(std::string_view bytes) {
  const H2Fields fields = FieldsIn(bytes);
  if (const auto answer = ResponseFromH2(fields, "GET")) {
    RequirePlain(H2FieldsOf(*answer));
    Require(answer->status != 101, "no answer takes a connection over");
  }
  if (CheckH2Trailers(fields)) RequirePlain(fields);
  const auto request = RequestFromH2(fields);
  if (!request) return false;
  const H2Fields written = H2FieldsOf(*request);
  RequirePlain(written);
  const auto again = RequestFromH2(written);
  Require(again && again->method == request->method && again->path == request->path &&
              again->length == request->length,
          "a request is the same when it is written again");
  Require(request->method != "CONNECT" && (request->path[0] == '/' || request->path == "*"),
          "a request is for a path", request->path);
  const auto one = ParseRequestHead(WriteRequestHead(*request));
  Require(one && one->path == request->path && one->headers.size() == request->headers.size(),
          "HTTP/1.1 reads the same request");
  return true;
}

bool ReadSocks(std::string_view bytes) {
  size_t used = 0;
  SocksGreeting greeting;
  const Parsed greeted = ParseSocksGreeting(bytes, used, greeting);
  if (greeted == Parsed::kDone) {
    Require(used <= bytes.size(), "a greeting ends in its bytes");
    Require(ParseSocksGreeting(bytes.substr(0, used - 1), used, greeting) == Parsed::kMore,
            "without its last byte a greeting is not whole");
  }
  SocksRequest request;
  if (ParseSocksRequest(bytes, used, request) != Parsed::kDone) return greeted == Parsed::kDone;
  Require(used <= bytes.size(), "a request ends in its bytes");
  Require(ParseSocksRequest(bytes.substr(0, used - 1), used, request) == Parsed::kMore,
          "without its last byte a request is not whole");
  return true;
}

bool ReadRule(std::string_view bytes) {
  if (const auto authority = ParseAuthority(bytes); authority && !authority->is_address)
    RequireNormal(authority->host);
  const auto rule = ParseRule(bytes);
  if (!rule) return false;
  Require(!rule->host.empty() || rule->range, "a rule covers something");
  if (!rule->host.empty())
    RequireNormal(std::string_view(rule->host).substr(rule->host.starts_with("*.") ? 2 : 0));
  const auto again = ParseRule(FormatRule(*rule));
  Require(again && *again == *rule, "a rule is the same when it is written again",
          FormatRule(*rule));
  const auto object = RuleFromJson(nlohmann::json::parse(ToJson(*rule).dump()));
  Require(object && *object == *rule, "a rule survives as JSON", FormatRule(*rule));
  return true;
}

bool ReadControl(std::string_view bytes) {
  std::string sandbox;
  const auto message = ParseControlMessage(bytes, sandbox);
  if (!message) return false;
  if (const auto* rules = std::get_if<RulesMessage>(&*message)) {
    for (const Rule& rule : rules->rules)
      Require(CheckRule(rule).has_value(), "rules that were read are rules");
  }
  return true;
}

constexpr ByteTarget kTargets[] = {
    {"dns", ReadDns},      {"hello", ReadHello}, {"certificate", ReadCertificate},
    {"http", ReadHttp},    {"h2", ReadH2},       {"socks", ReadSocks},
    {"rule", ReadRule},    {"redact", Redact},   {"control", ReadControl},
    {"canary", ReadCanary}};

}  // namespace

std::span<const ByteTarget> EgressTargets() { return kTargets; }

}  // namespace cloche::fuzz
