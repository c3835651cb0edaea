#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/print.h"

// Questions: to the person at the terminal, and to programs of ours.
namespace cloche::cli {

// Discards what was typed before a question was shown: it is not the answer. Call it before each
// question.
void DropTypeAhead();

std::optional<std::string> ReadAnswer();      // a line; nothing: the input has ended
bool Confirmed(const std::string& question);  // anything but a yes is a no
// One letter of `letters` ("y,n,q"), asked again with `help` until it is one; at the end of the
// input the last of them.
char AskLetter(const std::string& question, const std::string& letters, const std::string& help);
bool CanAsk(bool json);  // somebody sits at a terminal, and did not ask for JSON
bool ReadYes();          // the answer, if somebody else has asked

// Asks about typed rules that allow every HTTPS host; where nobody can be asked they need `yes`.
Status ConfirmAnyHost(const std::vector<std::string>& rules, bool yes, bool json);
// Says of typed rules that they do nothing for programs that do not ask the proxy.
void TellProxyRules(const std::vector<std::string>& rules);
// "": the rule names its hosts.
std::string RiskOfRule(const std::string& rule);

// Runs cloche-promote with these arguments and returns its answer.
Result<Json> AskPromoter(std::vector<std::string> arguments);

}  // namespace cloche::cli
