#include <fmt/core.h>
#include <unistd.h>

#include <ctime>

#include "base/nearest_word.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/network_view.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/request.h"
#include "cli/sandbox_view.h"
#include "policy/network_presets.h"

namespace cloche::cli {
namespace {

struct NetFlags {
  std::string lasts;
  std::string secret;
  bool follow = false;
  bool json = false;
  bool yes = false;
};

std::string Destination(const Json& record) {
  const std::string name = Text(record, "name");
  std::string host = name.empty() ? Text(record, "address", "-") : name;
  if (name.empty() && host.find(':') != std::string::npos) host = "[" + host + "]";
  const Json& port = Field(record, "port");
  return port.is_number() ? fmt::format("{}:{}", host, port.dump()) : host;
}

std::string Amount(const Json& record) {
  return fmt::format("{} up, {} down",
                     FormatBytes(static_cast<uint64_t>(Number(record, "bytes_up"))),
                     FormatBytes(static_cast<uint64_t>(Number(record, "bytes_down"))));
}

// Seconds since 1970, as a person reads it.
std::string When(const Json& record) {
  const Json& time = Field(record, "time");
  if (!time.is_number()) return DescribeValue(time);
  return Rfc3339(static_cast<int64_t>(time.get<double>()));
}

std::string Ends(const Json& rule) {
  if (Flag(rule, "expired")) return "has ended";
  const Json& left = Field(rule, "expires_in_s");
  return left.is_number() ? "in " + FormatAge(left.get<double>()) : "-";
}

void PrintNetwork(const Json& network) {
  const bool colour = ColourWanted(STDOUT_FILENO);
  const Json& egress = Field(network, "egress");
  const Json& totals = Field(network, "totals");
  Table facts({});
  const std::string state = Text(network, "state");
  facts.AddRow({"network", state == "none"      ? "none: nothing is granted"
                           : state == "stopped" ? "granted; the sandbox is stopped"
                           : state == "cut"     ? "cut: cloche-egress is being started again"
                                                : "open to what is granted, closed to all else"});
  if (const std::string proxy = Text(network, "proxy"); !proxy.empty())
    facts.AddRow({"proxy inside", proxy + " (HTTP CONNECT and SOCKS5; nobody has to use it)"});
  std::string ended;
  for (const Json& rule : Field(network, "rules"))
    if (Text(rule, "tls") == "ended") ended += (ended.empty() ? "" : ", ") + Text(rule, "id");
  const std::string authority = Text(Field(network, "authority"), "sha256");
  if (!ended.empty() || !authority.empty())
    facts.AddRow(
        {"TLS", fmt::format("{}{}", ended.empty() ? "passes through" : "is ended for " + ended,
                            authority.empty() ? ""
                                              : ", by an authority of its own: sha256 " +
                                                    authority.substr(0, 16))});
  if (Number(totals, "records") > 0)
    facts.AddRow(
        {"so far", fmt::format("{:.0f} let through, {:.0f} refused, {}", Number(totals, "allowed"),
                               Number(totals, "denied"), Amount(totals))});
  if (Number(egress, "deaths") > 0)
    facts.AddRow(
        {"cloche-egress",
         fmt::format("died {:.0f} time{}, last: {}", Number(egress, "deaths"),
                     Number(egress, "deaths") == 1 ? "" : "s", Text(egress, "last_death"))});
  std::string text = facts.Render(false);
  if (const Json& rules = Field(network, "rules"); !rules.empty()) {
    Table table({"ID", "ACTION", "KIND", "RULE", "ENDS", "SECRET"});
    for (const Json& rule : rules)
      table.AddRow({Text(rule, "id"), Text(rule, "action"), Text(rule, "kind"), Text(rule, "rule"),
                    Ends(rule), Text(rule, "secret")});
    text += "\n" + table.Render(colour);
  }
  if (const Json& secrets = Field(network, "secrets"); !secrets.empty()) {
    Table table({"SECRET", "VARIABLE", "STATE"});
    for (const Json& each : secrets)
      table.AddRow({Text(each, "name"), Text(each, "variable"),
                    Text(each, "state") == "removed" ? "removed: requests with it are refused"
                                                     : Text(each, "state")});
    text += "\n" + table.Render(colour);
  }
  if (const Json& open = Field(network, "connections"); !open.empty()) {
    Table table({"OPEN", "ADDRESS", "KIND", "RULE", "SINCE"});
    for (const Json& each : open)
      table.AddRow({Destination(each), Text(each, "address"), Text(each, "kind"),
                    Text(each, "rule"), When(each)});
    text += "\n" + table.Render(colour);
  }
  WriteAll(STDOUT_FILENO, text);
}

// One that was made, or was not.
std::string SignatureLine(const Json& record, bool allowed) {
  std::string text = fmt::format("{}  {:5}  sign ", When(record), allowed ? "allow" : "deny");
  const auto add = [&](const char* before, const std::string& value) {
    if (!value.empty()) text += before + EscapeForTerminal(value);
  };
  add(" ", Text(record, "name"));
  add(" ", Text(record, "fingerprint"));
  add("  ", Text(record, "use"));
  add(" as ", Text(record, "user"));
  add(" at ", Text(record, "host"));
  add(" for ", Text(record, "namespace"));
  add("  ", Text(record, "reason"));
  if (const double untold = Number(record, "untold"); untold > 0)
    text += fmt::format("  ({:.0f} more were refused before)", untold);
  return text + "\n";
}

}  // namespace

std::string NetworkLogLine(const Json& record) {
  if (const double dropped = Number(record, "dropped"); dropped > 0)
    return fmt::format("... {:.0f} older records were dropped\n", dropped);
  const bool allowed = Text(record, "decision") == "allow";
  if (Text(record, "kind") == "sign") return SignatureLine(record, allowed);
  std::string text = fmt::format("{}  {:5}  {:5}  {}", When(record),
                                 allowed                           ? "allow"
                                 : !Text(record, "canary").empty() ? "ALARM"
                                                                   : "deny",
                                 EscapeForTerminal(Text(record, "kind", "-")),
                                 EscapeForTerminal(Destination(record)));
  if (allowed) text += "  " + Amount(record);
  if (const Json& spent = Field(record, "duration_ms"); allowed && spent.is_number())
    text += fmt::format(", {:.0f} ms", spent.get<double>());
  if (const std::string process = Text(record, "process"); !process.empty())
    text += fmt::format("  {}[{:.0f}]", EscapeForTerminal(process), Number(record, "pid"));
  if (const std::string rule = Text(record, "rule"); !rule.empty())
    text += "  " + EscapeForTerminal(rule);
  if (const std::string secret = Text(record, "secret"); !secret.empty())
    text += "  with secret " + EscapeForTerminal(secret);
  if (const double redacted = Number(record, "redacted"); redacted > 0)
    text += fmt::format("  {:.0f} answer{} redacted", redacted, redacted == 1 ? "" : "s");
  if (const std::string reason = Text(record, "reason"); !reason.empty())
    text += "  " + EscapeForTerminal(reason);
  return text + "\n";
}

namespace {

int PrintPresets(bool json) {
  Table table({"PRESET", "FOR", "RULES"});
  Json list = Json::array();
  for (const NetworkPreset& each : NetworkPresets()) {
    std::string rules;
    Json texts = Json::array();
    for (const std::string_view rule : each.rules) {
      rules += (rules.empty() ? "" : " ") + std::string(rule);
      texts.push_back(rule);
    }
    const std::string name = "@" + std::string(each.name);
    table.AddRow({name, std::string(each.what), rules});
    list.push_back({{"name", name}, {"for", each.what}, {"rules", std::move(texts)}});
  }
  if (json)
    PrintJson(list);
  else
    WriteAll(STDOUT_FILENO, table.Render(ColourWanted(STDOUT_FILENO)));
  return 0;
}

// Lines of JSON, in whatever pieces they come.
int PrintLog(const std::string& target, const NetFlags& flags) {
  std::string pending;
  const auto sink = [&](std::string_view piece) {
    pending += piece;
    std::string out;
    for (size_t end; (end = pending.find('\n')) != std::string::npos;) {
      const std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      const Json record = flags.json ? Json() : Json::parse(line, nullptr, false);
      out += flags.json ? line + "\n" : record.is_object() ? NetworkLogLine(record) : "";
    }
    WriteAll(STDOUT_FILENO, out);
  };
  const auto done = CallForPieces(target + (flags.follow ? "?follow=1" : ""), sink);
  return done ? 0 : PrintError(done.error(), flags.json);
}

Result<Json> ChangeBody(const std::string& action, const std::vector<std::string>& rules,
                        const NetFlags& flags) {
  if (action == "forget") return Json{{"remove", rules}};
  Json list = Json::array();
  for (const std::string& each : rules) {
    Json rule = {{"action", action}, {"rule", each}};
    if (!flags.secret.empty()) rule["secret"] = flags.secret.substr(0, flags.secret.find(':'));
    if (!flags.lasts.empty()) {
      const auto seconds = ParseDuration(flags.lasts);
      if (!seconds)
        return Fail(Code::kInvalid, "--for " + EscapeForTerminal(flags.lasts) + ": not a time",
                    "give a time such as 10m");
      rule["for"] = *seconds;
    }
    list.push_back(std::move(rule));
  }
  Json body = Json{{"add", std::move(list)}};
  if (!flags.secret.empty()) body["secrets"] = Json::array({SecretGrantBody(flags.secret)});
  return body;
}

bool Changes(std::string_view action) {
  return action == "allow" || action == "deny" || action == "forget";
}

// SANDBOX ACTION WORD...; `grants`: allow with a secret needs no rule.
Status CheckAction(const std::string& action, const std::vector<std::string>& words, bool grants) {
  const std::string command = fmt::format("cloche net {} {}", words[0], action);
  if (Changes(action)) {
    if (words.size() > 2 || grants) return {};
    if (action == "forget")
      return Fail(Code::kInvalid, "net forget: no rule is named",
                  fmt::format("{} ID; the ids are in: cloche net {} show", command, words[0]));
    return Fail(Code::kInvalid, fmt::format("net {}: no rule is given", action),
                fmt::format("{} HOST:443, or a preset such as @npm (cloche net presets)", command));
  }
  if (action != "show" && action != "log") {
    const std::string near = NearestWord(action, {"show", "allow", "deny", "forget", "log"});
    return Fail(Code::kInvalid, fmt::format("net: there is no action {}", action),
                near.empty() ? "take one of show, allow, deny, forget, log"
                             : fmt::format("did you mean {}?", near));
  }
  if (words.size() > 2)
    return Fail(Code::kInvalid, fmt::format("net {}: it takes no {}", action, words[2]), command);
  return {};
}

}  // namespace

int Net(Arguments arguments) {
  std::vector<std::string> words;
  NetFlags flags;
  CLI::App app("Shows or changes what a sandbox may reach, and tells what it did reach.",
               "cloche net");
  app.add_option("WORDS", words, "a sandbox, what to do, and rules such as api.example.com:443")
      ->required();
  app.add_option("--for", flags.lasts, "with allow or deny: this long, e.g. 10m")
      ->type_name("TIME");
  app.add_option("--secret", flags.secret,
                 "with allow: requests there may use it; without a rule, those to all its hosts")
      ->type_name("NAME[:VARIABLE]");
  app.add_flag("-f,--follow", flags.follow, "with log: and what happens from now on");
  app.add_flag("-y,--yes", flags.yes, "with allow '*': do not ask whether that is meant");
  AddJsonFlag(app, flags.json);
  if (auto status = Parse(app,
                          "SANDBOX [show] | allow RULE... | deny RULE... | forget ID... | log | "
                          "presets",
                          arguments))
    return *status;
  if (words == std::vector<std::string>{"presets"}) return PrintPresets(flags.json);
  const std::string action = words.size() > 1 ? words[1] : "show";
  const bool changes = Changes(action);
  const bool grants = action == "allow" && !flags.secret.empty();
  if (const Status understood = CheckAction(action, words, grants); !understood)
    return PrintError(understood.error(), flags.json);
  const auto target = SandboxTarget(words[0], action == "log" ? "/network/log" : "/network");
  if (!target) return PrintError(target.error(), flags.json);
  if (action == "log") return PrintLog(*target, flags);
  Json body;
  if (changes) {
    if (action == "allow") {
      const Status meant = ConfirmAnyHost({words.begin() + 2, words.end()}, flags.yes, flags.json);
      if (!meant) return PrintError(meant.error(), flags.json);
      TellProxyRules({words.begin() + 2, words.end()});
    }
    auto made = ChangeBody(action, {words.begin() + 2, words.end()}, flags);
    if (!made) return PrintError(made.error(), flags.json);
    body = std::move(*made);
  }
  const auto network = Call(changes ? "POST" : "GET", *target, body);
  if (!network) return PrintError(network.error(), flags.json);
  if (flags.json)
    PrintJson(*network);
  else
    PrintNetwork(*network);
  return 0;
}

}  // namespace cloche::cli
