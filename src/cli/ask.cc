#include "cli/ask.h"

#include <fmt/core.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/helper_process.h"
#include "cli/sandbox_view.h"
#include "policy/network_presets.h"

namespace cloche::cli {

void DropTypeAhead() {
  if (isatty(STDIN_FILENO)) tcflush(STDIN_FILENO, TCIFLUSH);
}

std::optional<std::string> ReadAnswer() {
  std::string line;
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return line;
    line += c;
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

bool ReadYes() {
  const std::optional<std::string> answer = ReadAnswer();
  return answer == "y" || answer == "Y" || answer == "yes";
}

bool Confirmed(const std::string& question) {
  DropTypeAhead();
  WriteAll(STDERR_FILENO, question + " [y/N] ");
  return ReadYes();
}

char AskLetter(const std::string& question, const std::string& letters, const std::string& help) {
  for (;;) {
    DropTypeAhead();
    WriteAll(STDERR_FILENO, question + " [" + letters + ",?] ");
    const std::optional<std::string> answer = ReadAnswer();
    if (!answer) return letters.back();
    if (answer->size() == 1 && *answer != "," && letters.contains((*answer)[0]))
      return (*answer)[0];
    WriteAll(STDERR_FILENO, help);
  }
}

bool CanAsk(bool json) { return !json && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1; }

std::string RiskOfRule(const std::string& rule) {
  if (!IsAnyHostRule(rule)) return "";
  const size_t star = rule.find('*');
  const char* what = star == rule.npos              ? "this range is much of the internet"
                     : rule.substr(star, 2) == "*." ? "these names are much of the internet"
                                                    : "* is every HTTPS host";
  return fmt::format("{}: whatever it can read inside it can send to anybody", what);
}

void TellProxyRules(const std::vector<std::string>& rules) {
  for (const std::string& rule : rules)
    if (const std::string real = RuleForThisMachine(rule); !real.empty())
      WriteAll(STDERR_FILENO,
               fmt::format("cloche: --allow {} holds only for programs that ask the proxy "
                           "(CLOCHE_PROXY): for all others that is the sandbox itself; for a "
                           "service of this machine write {}\n",
                           EscapeForTerminal(rule), EscapeForTerminal(real)));
}

Status ConfirmAnyHost(const std::vector<std::string>& rules, bool yes, bool json) {
  const auto rule = std::ranges::find_if(rules, IsAnyHostRule);
  if (yes || rule == rules.end()) return {};
  const std::string risk = RiskOfRule(*rule);
  if (!CanAsk(json))
    return Fail(Code::kInvalid, fmt::format("allow {}: {}", EscapeForTerminal(*rule), risk),
                "name the hosts it needs, or a preset (cloche net presets), or add --yes");
  if (Confirmed(risk + ". Grant it?")) return {};
  return Fail(Code::kInvalid, fmt::format("allow {}: not confirmed", EscapeForTerminal(*rule)),
              "name the hosts it needs");
}

Result<Json> AskPromoter(std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(HelperProcess helper,
                   HelperProcess::Start("cloche-promote", std::move(arguments)));
  const bool shown = isatty(STDERR_FILENO) != 0;
  bool begun = false;
  Json answer;
  for (;;) {
    answer = Json::parse(helper.ReadLine(), nullptr, false);
    const Json& progress = Field(answer, "progress");
    if (!progress.is_object()) break;
    if (!shown) continue;
    begun = true;
    WriteAll(STDERR_FILENO, fmt::format("\r{} of {} files", DescribeValue(Field(progress, "done")),
                                        DescribeValue(Field(progress, "of"))));
  }
  if (begun) WriteAll(STDERR_FILENO, "\r\033[K");
  if (!answer.is_object()) return Fail(Code::kInternal, "cloche-promote gave no answer");
  if (answer.contains("error")) return std::unexpected(ErrorFromJson(answer["error"]));
  return answer;
}

}  // namespace cloche::cli
