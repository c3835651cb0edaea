#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/network_view.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/request.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {
namespace {

void PrintSigning(const Json& signing) {
  const std::string state = Text(signing, "state");
  Table facts({});
  facts.AddRow({"signatures", state == "none"      ? "none: no key is granted"
                              : state == "stopped" ? "granted; the sandbox is stopped"
                              : state == "closed"  ? "closed: cloche-sign died; stop the sandbox "
                                                     "and start it again"
                                                   : "of these keys, and of no others"});
  facts.AddRow({"limit", fmt::format("{:.0f} in a minute", Number(signing, "per_minute"))});
  std::string text = facts.Render(false);
  if (const Json& keys = Field(signing, "keys"); !keys.empty()) {
    Table table({"KEY", "FINGERPRINT", "FOR"});
    for (const Json& key : keys) {
      const std::string use = Text(key, "use"), host = Text(key, "host");
      table.AddRow({Text(key, "comment", Text(key, "name")), Text(key, "fingerprint", "-"),
                    use == "any"   ? "ssh, git"
                    : host.empty() ? use
                                   : use + " at " + host});
    }
    text += "\n" + table.Render(ColourWanted(STDOUT_FILENO));
  }
  WriteAll(STDOUT_FILENO, text);
}

// The log of the network has both; here are the signatures.
int PrintSignatures(const std::string& target, bool follow, bool json) {
  std::string pending;
  const auto sink = [&](std::string_view piece) {
    pending += piece;
    std::string out;
    for (size_t end; (end = pending.find('\n')) != std::string::npos;) {
      const std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      const Json record = Json::parse(line, nullptr, false);
      if (!record.is_object()) continue;
      if (Text(record, "kind") != "sign" && Number(record, "dropped") == 0) continue;
      out += json ? line + "\n" : NetworkLogLine(record);
    }
    WriteAll(STDOUT_FILENO, out);
  };
  const auto done = CallForPieces(target + (follow ? "?follow=1" : ""), sink);
  return done ? 0 : PrintError(done.error(), json);
}

}  // namespace

int Sign(Arguments arguments) {
  std::vector<std::string> words;
  bool follow = false, json = false;
  CLI::App app("Grants or revokes signatures of keys of your ssh-agent, and tells what was signed.",
               "cloche sign");
  app.add_option("WORDS", words, "a sandbox, what to do, and keys by comment or fingerprint")
      ->required();
  app.add_flag("-f,--follow", follow, "with log: and what happens from now on");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX [ls] | add KEY[:git|:ssh]... | rm KEY... | log", arguments))
    return *status;
  const std::string action = words.size() > 1 ? words[1] : "ls";
  const bool changes = action == "add" || action == "rm";
  if (!(changes ? words.size() > 2 : (action == "ls" || action == "log") && words.size() <= 2))
    return PrintError(
        {Code::kInvalid, "sign: what is to be done with " + words[0] + "?", "cloche sign --help"},
        json);
  const auto target = SandboxTarget(words[0], action == "log" ? "/network/log" : "/sign");
  if (!target) return PrintError(target.error(), json);
  if (action == "log") return PrintSignatures(*target, follow, json);
  const std::vector<std::string> keys(words.begin() + (changes ? 2 : 1), words.end());
  Result<Body> body = Body();
  if (action == "rm") body = Body{{"remove", keys}};
  if (action == "add") {
    std::vector<std::string> environment;
    for (char** variable = environ; *variable != nullptr; ++variable)
      environment.emplace_back(*variable);
    body = SigningBody(keys, "add", environment);
  }
  if (!body) return PrintError(body.error(), json);
  const auto signing = Call(changes ? "POST" : "GET", *target, *body);
  if (!signing) return PrintError(signing.error(), json);
  if (json)
    PrintJson(*signing);
  else
    PrintSigning(*signing);
  return 0;
}

}  // namespace cloche::cli
