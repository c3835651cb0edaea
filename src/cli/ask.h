#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/print.h"

// Questions: to the person at the terminal, and to programs of ours.
namespace cloche::cli {

std::optional<std::string> ReadAnswer();      // a line; nothing: the input has ended
bool Confirmed(const std::string& question);  // anything but a yes is a no
bool ReadYes();                               // the answer, if somebody else has asked

// What cloche-promote says when it is started like this.
Result<Json> AskPromoter(std::vector<std::string> arguments);

}  // namespace cloche::cli
