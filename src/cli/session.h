#pragma once

#include <string>

#include "cli/options.h"
#include "cli/report.h"
#include "cli/request.h"

namespace cloche::cli {

// The exit status of run, exec and shell when Cloche itself failed, for any reason.
inline constexpr int kOwnFailure = 125;

int FailSession(const Error& error, bool json);

// How the command is connected to this process, decided before the request is made.
struct Streams {
  bool pty = false;
  bool read_stdin = false;
  bool is_shell = false;  // a prompt answers to any number of Ctrl-C
};
Streams ChooseStreams(Terminal terminal, bool json);
// Makes the request ask for these streams.
void AskForStreams(CommandFlags& command, const Streams& streams);

// Sends the request, relays the command's streams, reports on standard error; returns the exit
// status.
int RunSession(const std::string& target, const Body& body, const Streams& streams,
               const OutputFlags& output, AfterCommand after);

}  // namespace cloche::cli
