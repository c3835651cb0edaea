#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/request.h"

namespace cloche::cli {

// Flags that several commands share. The structs must outlive the parse.

struct OutputFlags {
  bool json = false;
  bool quiet = false;
  bool timing = false;
};

enum class Terminal { kAuto, kForce, kForbid };

void AddSandboxFlags(CLI::App& app, SandboxFlags& flags);
void AddLimitFlags(CLI::App& app, LimitFlags& limits);
void AddCommandFlags(CLI::App& app, CommandFlags& flags);  // those of exec alone
void AddTerminalFlags(CLI::App& app, Terminal& terminal);
void AddSessionOutputFlags(CLI::App& app, OutputFlags& flags);
CLI::Option* AddJsonFlag(CLI::App& app, bool& json);

// An option that takes one value at a time and may be repeated.
void AddList(CLI::App& app, const char* name, std::vector<std::string>& values, const char* help,
             const char* value_name = "PATH");

}  // namespace cloche::cli
