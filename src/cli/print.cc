#include "cli/print.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "base/error_json.h"
#include "base/json_text.h"
#include "base/text.h"
#include "cli/json_output.h"

namespace cloche::cli {
namespace {

double MonotonicMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double start_ms = 0;

}  // namespace

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool ColourWanted(int fd) {
  const char* no_color = getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(fd);
}

std::string Coloured(bool on, const char* sgr, std::string_view text) {
  return on ? fmt::format("\x1b[{}m{}\x1b[0m", sgr, text) : std::string(text);
}

std::string JsonText(const Json& value) {
  return EscapeJson(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void WriteJson(std::string json) { WriteAll(STDOUT_FILENO, EscapeJson(std::move(json))); }

void PrintJson(const Json& value) {
  const bool terminal = isatty(STDOUT_FILENO);
  WriteJson(value.dump(terminal ? 2 : -1, ' ', terminal, Json::error_handler_t::replace) + "\n");
}

std::string DescribeError(const Error& error, bool colour) {
  std::string text =
      Coloured(colour, "31", "cloche:") + " " + EscapeForTerminal(error.message) + "\n";
  if (!error.cure.empty())
    text += "  " + Coloured(colour, "1", "cure:") + " " + EscapeForTerminal(error.cure) + "\n";
  return text;
}

int PrintError(const Error& error) {
  WriteAll(STDERR_FILENO, DescribeError(error, ColourWanted(STDERR_FILENO)));
  return ExitStatus(error.code);
}

int PrintError(const Error& error, bool json) {
  if (!json) return PrintError(error);
  PrintJson({{"error", ErrorJson(error)}});
  return ExitStatus(error.code);
}

const Json& Field(const Json& object, const char* key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::string Text(const Json& object, const char* key, std::string_view fallback) {
  const Json& value = Field(object, key);
  return value.is_string() ? value.get<std::string>() : std::string(fallback);
}

double Number(const Json& object, const char* key, double fallback) {
  const Json& value = Field(object, key);
  return value.is_number() ? value.get<double>() : fallback;
}

bool Flag(const Json& object, const char* key) {
  const Json& value = Field(object, key);
  return value.is_boolean() && value.get<bool>();
}

void MarkStart() { start_ms = MonotonicMs(); }
double SinceStartMs() { return MonotonicMs() - start_ms; }

}  // namespace cloche::cli
