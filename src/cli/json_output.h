#pragma once

#include <string>

#include "cli/print.h"

// All JSON reaches standard output through PrintJson or one of these, which leave nothing in it
// that a terminal acts on or that reorders what people read. A lint checks that.
namespace cloche::cli {

std::string JsonText(const Json& value);  // on one line, without its end
void WriteJson(std::string json);         // a piece of a document that somebody else wrote

}  // namespace cloche::cli
