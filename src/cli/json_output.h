#pragma once

#include <string>

#include "cli/print.h"

// Whatever JSON reaches standard output goes through PrintJson or one of these: nothing that a
// terminal acts on, or that reorders what people read, is left in it. A lint looks after that.
namespace cloche::cli {

std::string JsonText(const Json& value);  // on one line, without its end
void WriteJson(std::string json);         // a piece of a document that somebody else wrote

}  // namespace cloche::cli
