#include "cli/session.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <utility>

#include "base/error_json.h"
#include "cli/client.h"
#include "cli/print.h"
#include "cli/stream.h"
#include "cli/terminal.h"

namespace cloche::cli {
namespace {

bool IsNullDevice(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

int ExitStatusOf(const Json& result) {
  const Json& status = Field(result, "exit_status");
  return status.is_number_integer() ? status.get<int>() & 0xff : kOwnFailure;
}

}  // namespace

int FailSession(const Error& error, bool json) {
  PrintError(error, json);
  return kOwnFailure;
}

Streams ChooseStreams(Terminal terminal, bool json) {
  Streams streams;
  const bool typed = isatty(STDIN_FILENO) == 1;
  streams.pty =
      terminal == Terminal::kForce || (terminal == Terminal::kAuto && !json && typed &&
                                       isatty(STDOUT_FILENO) == 1 && InForeground(STDIN_FILENO));
  streams.read_stdin = !IsNullDevice(STDIN_FILENO);
  return streams;
}

void AskForStreams(CommandFlags& command, const Streams& streams) {
  command.read_stdin = streams.read_stdin;
  if (streams.pty) command.pty = ReadWindowSize(STDOUT_FILENO);
}

int RunSession(const std::string& target, const Body& body, const Streams& streams,
               const OutputFlags& output, AfterCommand after) {
  auto connection = CallForStream(target, body);
  if (!connection) return FailSession(connection.error(), output.json);
  const double connected_ms = connection->connected_ms;
  auto outcome = Relay(*std::move(connection), {.pty = streams.pty,
                                                .read_stdin = streams.read_stdin,
                                                .capture = output.json,
                                                .escalate = !(streams.pty && streams.is_shell),
                                                .quiet = output.quiet || output.json});
  if (!outcome) return FailSession(outcome.error(), output.json);
  if (outcome->left_status) return *outcome->left_status;

  Json& result = outcome->result;
  const Json& error = Field(result, "error");
  const bool failed = error.is_object() && !Field(result, "exit_status").is_number();
  if (failed) return FailSession(ErrorFromJson(error), output.json);
  if (!result.is_object())
    return FailSession({Code::kInternal, "read the result of cloched: not JSON", ""}, output.json);

  const ClientTiming timing{connected_ms, outcome->first_frame_ms, SinceStartMs()};
  if (output.json) {
    result["stdout"] = std::move(outcome->captured_stdout);
    result["stderr"] = std::move(outcome->captured_stderr);
    if (output.timing) AddClientTiming(result, timing);
    PrintJson(result);
  } else {
    WriteAll(STDERR_FILENO,
             DescribeResult(result, after, output.quiet, ColourWanted(STDERR_FILENO)));
    if (output.timing) WriteAll(STDERR_FILENO, TimingTable(result, timing));
  }
  return ExitStatusOf(result);
}

}  // namespace cloche::cli
