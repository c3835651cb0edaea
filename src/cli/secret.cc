#include <fmt/core.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include <ctime>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/request.h"
#include "policy/secret_request.h"
#include "policy/weak_value.h"

namespace cloche::cli {
namespace {

constexpr size_t kMostSecret = 64 << 10;
constexpr char kCtrlC = 3;

struct SecretFlags {
  std::vector<std::string> hosts;
  std::string where, variable, like;
  bool json = false;
};

// Turns echo off for as long as it lives. Ctrl-C is a character meanwhile: it must not leave a
// terminal behind that shows nothing.
class SilentTerminal {
 public:
  SilentTerminal() {
    if (tcgetattr(STDIN_FILENO, &saved_) < 0) return;
    termios silent = saved_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
    silent.c_cc[VEOF] = saved_.c_cc[VEOF];
    changed_ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
  }
  ~SilentTerminal() {
    if (changed_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved_);
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;
  bool changed() const { return changed_; }

 private:
  bool changed_ = false;
  termios saved_{};
};

Result<std::string> TooLong() {
  return Fail(Code::kInvalid, "read secret: it is longer than 64 KiB",
              "a token or a password is meant, not a file");
}

// A line of standard input, or all of it; never shown.
Result<std::string> ReadValue(const std::string& name) {
  std::string value;
  (void)prctl(PR_SET_DUMPABLE, 0);
  value.reserve(kMostSecret + 1);  // nothing is left behind by growing
  const bool asked = isatty(STDIN_FILENO) == 1;
  const SilentTerminal* silent = nullptr;
  std::optional<SilentTerminal> terminal;
  if (asked) {
    silent = &terminal.emplace();
    if (!silent->changed())
      return Fail(Code::kUnavailable, "read secret: the terminal would show it",
                  "give it on standard input: cloche secret set NAME --host HOST < FILE");
    WriteAll(STDERR_FILENO,
             fmt::format("Value of {} (it is not shown): ", EscapeForTerminal(name)));
  }
  for (char c = 0; value.size() <= kMostSecret;) {
    const ssize_t got = read(STDIN_FILENO, &c, 1);
    if (got <= 0 || (asked && c == '\n')) break;
    value += c;
  }
  if (asked) WriteAll(STDERR_FILENO, "\n");
  if (asked && value.find(kCtrlC) != std::string::npos) {
    Wipe(value);
    return Fail(Code::kInvalid, "read secret: interrupted");
  }
  if (value.size() > kMostSecret) return TooLong();
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  return value;
}

std::string Joined(const Json& list) {
  std::string text;
  for (const Json& each : list)
    if (each.is_string()) text += (text.empty() ? "" : ", ") + each.get<std::string>();
  return text;
}

std::string AgeOf(const Json& secret, const char* key) {
  const double then = Number(secret, key);
  return then == 0 ? "never" : FormatAge(std::max(0.0, static_cast<double>(time(nullptr)) - then));
}

int ListSecrets(bool json) {
  const auto secrets = Call("GET", "/v1/secrets");
  if (!secrets) return PrintError(secrets.error(), json);
  if (json) {
    PrintJson(*secrets);
    return 0;
  }
  Table table({"SECRET", "HOSTS", "IN", "VARIABLE", "AGE", "ROTATED", "USED", "USES", "SANDBOXES"});
  table.AlignRight(7);
  for (const Json& each : *secrets)
    table.AddRow({Text(each, "name"), Joined(Field(each, "hosts")), Joined(Field(each, "where")),
                  Text(each, "variable"), AgeOf(each, "created"), AgeOf(each, "rotated"),
                  AgeOf(each, "last_used"), fmt::format("{:.0f}", Number(each, "uses")),
                  Joined(Field(each, "sandboxes"))});
  if (!table.empty()) WriteAll(STDOUT_FILENO, table.Render(ColourWanted(STDOUT_FILENO)));
  return 0;
}

Result<Json> SetSecret(const std::string& action, const std::string& name,
                       const SecretFlags& flags) {
  if (action == "set" && flags.hosts.empty())
    return Fail(Code::kInvalid, "secret set: --host is missing; a secret goes to its hosts only",
                fmt::format("cloche secret set {} --host api.example.com", name));
  Json body = Json::object();
  if (action == "set") {
    body["hosts"] = flags.hosts;
    for (size_t at = 0; at < flags.where.size();) {
      const size_t end = std::min(flags.where.find(',', at), flags.where.size());
      body["where"].push_back(flags.where.substr(at, end - at));
      at = end + 1;
    }
    if (!flags.variable.empty()) body["variable"] = flags.variable;
    if (!flags.like.empty()) body["like"] = flags.like;
  }
  ASSIGN_OR_RETURN(std::string value, ReadValue(name));
  if (!IsUtf8(value)) {
    Wipe(value);
    return Fail(Code::kInvalid, "secret set: the value is not text", "give one line of ASCII");
  }
  // Checked before it is stored: a program that can use a secret can have its guesses confirmed.
  if (const std::string weak = WhyGuessable(value); !weak.empty())
    WriteAll(
        STDERR_FILENO,
        fmt::format("warning: the value of {} could be guessed ({}): a program inside can test "
                    "guesses: a correct one comes back redacted; use a random token "
                    "(docs/secrets.md)\n",
                    name, weak));
  body["value"] = value;
  Wipe(value);
  const std::string target = "/v1/secrets/" + name;
  auto answer =
      action == "set" ? Call("PUT", target, body) : Call("POST", target + "/rotate", body);
  Wipe(body["value"].get_ref<std::string&>());
  return answer;
}

// Only a name may follow the action; any other word could be a value.
Status CheckWords(const std::vector<std::string>& words) {
  const std::string& action = words[0];
  const bool takes_value = action == "set" || action == "rotate";
  if (!takes_value && action != "ls" && action != "rm")
    return Fail(Code::kInvalid, "secret: what is to be done?", "cloche secret --help");
  const bool named = words.size() > 1;
  if (takes_value && (words.size() > 2 || (named && words[1].find('=') != std::string::npos)))
    return Fail(Code::kInvalid,
                "secret: a value on the command line is seen by every user of the machine and kept "
                "by your shell",
                "give it on standard input, or at the prompt: cloche secret " + action +
                    " NAME ...; and replace it where it was issued");
  if (action == "ls" ? named : !named)
    return Fail(Code::kInvalid, named ? "secret ls takes no name" : "secret: a name is missing",
                "cloche secret --help");
  for (size_t i = 1; i < words.size(); ++i)
    if (!IsValidSecretName(words[i]))
      return Fail(Code::kInvalid, fmt::format("secret {}: not a valid name", action),
                  "use 1 to 64 letters, digits, -, _ and ., such as github-token");
  return {};
}

}  // namespace

int Secret(Arguments arguments) {
  std::vector<std::string> words;
  SecretFlags flags;
  CLI::App app(
      "Keeps secrets that sandboxes use without ever holding them. The value is read from standard "
      "input or at a prompt, and is never shown again.",
      "cloche secret");
  app.add_option("WORDS", words, "what to do, and a name")->required();
  AddList(app, "--host", flags.hosts, "with set: it may go there, and nowhere else", "HOST[:PORT]");
  app.add_option("--in", flags.where,
                 "with set: where it may stand, of header, basic, query, json (header,basic)")
      ->type_name("PLACES");
  app.add_option("--env", flags.variable, "with set: the variable that stands for it inside")
      ->type_name("VARIABLE");
  app.add_option("--like", flags.like, "with set: what stands for it begins so, e.g. ghp_")
      ->type_name("PREFIX");
  AddJsonFlag(app, flags.json);
  if (auto status =
          Parse(app, "set NAME --host HOST... | ls | rotate NAME | rm NAME...", arguments))
    return *status;
  if (const Status checked = CheckWords(words); !checked)
    return PrintError(checked.error(), flags.json);
  if (words[0] == "ls") return ListSecrets(flags.json);
  Json answer = Json::array();
  int status = 0;
  if (words[0] == "rm") {
    for (size_t i = 1; i < words.size(); ++i) {
      const auto removed = Call("DELETE", "/v1/secrets/" + words[i]);
      if (removed) {
        answer.push_back(*removed);
        continue;
      }
      const int failure =
          flags.json ? ExitStatus(removed.error().code) : PrintError(removed.error());
      if (status == 0) status = failure;
      answer.push_back({{"id", words[i]}, {"error", ErrorJson(removed.error())}});
    }
  } else {
    auto set = SetSecret(words[0], words[1], flags);
    if (!set) return PrintError(set.error(), flags.json);
    answer = std::move(*set);
  }
  if (flags.json) {
    PrintJson(answer);
  } else if (words[0] != "rm") {
    WriteAll(STDERR_FILENO, fmt::format("{} {}: for {}; grant it with --secret {} ({} inside)\n",
                                        words[0] == "set" ? "kept" : "rotated", words[1],
                                        EscapeForTerminal(Joined(Field(answer, "hosts"))), words[1],
                                        EscapeForTerminal(Text(answer, "variable"))));
  }
  return status;
}

}  // namespace cloche::cli
