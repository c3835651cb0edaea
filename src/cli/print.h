#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::cli {

using Json = nlohmann::ordered_json;  // the daemon's order of keys is the order to show

// Gives up quietly when nobody reads any more.
void WriteAll(int fd, std::string_view text);

// The stream is a terminal and NO_COLOR is unset.
bool ColourWanted(int fd);
std::string Coloured(bool on, const char* sgr, std::string_view text);

// One value on standard output: indented ASCII on a terminal, one line of UTF-8 otherwise.
void PrintJson(const Json& value);

// "cloche: message" with the cure below it.
std::string DescribeError(const Error& error, bool colour);

// Returns the exit status of the error's code.
int PrintError(const Error& error);
// With `json`, the error is the one object on standard output instead.
int PrintError(const Error& error, bool json);

// Fields of an answer; the fallback when absent, null or of another type.
std::string Text(const Json& object, const char* key, std::string_view fallback = "");
double Number(const Json& object, const char* key, double fallback = 0);
bool Flag(const Json& object, const char* key);
const Json& Field(const Json& object, const char* key);  // null when absent

// Milliseconds since MarkStart(), which main calls first.
void MarkStart();
double SinceStartMs();

}  // namespace cloche::cli
