#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_word.h"
#include "base/result.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/print.h"

namespace cloche::cli {
namespace {

struct Entry {
  std::string_view name;
  std::string_view help;
  int (*function)(Arguments);
  std::string_view others = "";  // names that people try as well, between spaces
};

constexpr std::array kCommands = {
    Entry{"run", "run a command in a disposable copy of this machine", Run},
    Entry{"new", "make a sandbox that stays", New},
    Entry{"exec", "run a command in a sandbox", Exec},
    Entry{"shell", "open a shell in a sandbox, or in a disposable one", Shell},
    Entry{"ls", "list sandboxes", Ls, "ps list"},
    Entry{"show", "show one sandbox: limits, what is enforced, what was denied", Show},
    Entry{"inspect", "show one sandbox as JSON", Inspect},
    Entry{"stats", "show what sandboxes use, live: CPU, memory, disk, processes", Stats},
    Entry{"logs", "print the output of a command", Logs},
    Entry{"start", "start sandboxes that are stopped", Start},
    Entry{"stop", "end the processes of sandboxes, keep their files", Stop, "kill"},
    Entry{"rename", "give a sandbox another name", Rename},
    Entry{"rm", "remove sandboxes", Rm},
    Entry{"prune", "remove stopped sandboxes that hold no unpromoted work", Prune},
    Entry{"diff", "show what a sandbox changed", Diff},
    Entry{"refresh", "bring what a sandbox did not change up to date with reality", Refresh},
    Entry{"services", "list, read or restart the services of a sandbox", Services},
    Entry{"net", "show or change what a sandbox may reach, and read what it did", Net},
    Entry{"sign", "grant or revoke signatures of your keys, and read what was signed", Sign},
    Entry{"port", "reach a server inside a sandbox from this machine", Port},
    Entry{"secret", "keep secrets that sandboxes use without holding them", Secret},
    Entry{"snapshot", "save the state of a sandbox", TakeSnapshot},
    Entry{"snapshots", "list, name or remove the saved states of a sandbox", Snapshots},
    Entry{"rollback", "return a sandbox to a saved state", Rollback},
    Entry{"undo-command", "return a sandbox to the state before its last command", UndoCommand},
    Entry{"fork", "make sandboxes that start from the state of another", Fork},
    Entry{"race", "try several approaches in sandboxes of their own, check and compare them", Race},
    Entry{"promote", "apply what a sandbox changed to reality, all or nothing", Promote},
    Entry{"promotions", "list what was applied to reality", Promotions},
    Entry{"undo", "take a promotion back", Undo},
    Entry{"pipeline", "lift what a sandbox changed into reality, stage by stage", Pipeline},
    Entry{"explain", "print what a sandbox would be made of, and how it differs from the host",
          Explain},
    Entry{"doctor", "say what works on this machine, what is missing and what fixes it", Doctor},
    Entry{"probe", "attack a sandbox on purpose and judge from the host", Probe},
    Entry{"status", "show the daemon", ShowStatus},
};

template <typename Take>
void ForEachOther(const Entry& entry, Take take) {
  for (std::string_view rest = entry.others; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    take(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::string Help() {
  Table table({});
  for (const Entry& entry : kCommands) {
    std::string names(entry.name);
    ForEachOther(entry, [&](std::string_view other) { names.append(", ").append(other); });
    table.AddRow({names, std::string(entry.help)});
  }
  return "Usage: cloche COMMAND [OPTIONS]\n\n" + table.Render(false, "  ") +
         "\n`cloche COMMAND --help` lists the options of a command.\n";
}

const Entry* FindCommand(std::string_view name) {
  const Entry* found = nullptr;
  for (const Entry& entry : kCommands) {
    if (entry.name == name) return &entry;
    ForEachOther(entry, [&](std::string_view other) {
      if (other == name) found = &entry;
    });
  }
  return found;
}

int UnknownCommand(std::string_view name, Arguments rest) {
  std::vector<std::string> known = {"help", "version"};
  for (const Entry& entry : kCommands) {
    known.emplace_back(entry.name);
    ForEachOther(entry, [&](std::string_view other) { known.emplace_back(other); });
  }
  const std::string near = NearestWord(name, known);
  const bool json = name == "--json" || std::ranges::any_of(rest, [](std::string_view word) {
                      return word == "--json";
                    });
  return PrintError(
      {Code::kInvalid, fmt::format("no such command: {}", name),
       near.empty() ? "cloche help lists them" : fmt::format("did you mean cloche {}?", near)},
      json);
}

int PrintHelp(Arguments topic) {
  if (topic.empty()) {
    WriteAll(STDOUT_FILENO, Help());
    return 0;
  }
  const Entry* entry = FindCommand(topic[0]);
  if (entry == nullptr) return UnknownCommand(topic[0], topic.subspan(1));
  static char help[] = "--help";
  const std::array<char*, 1> arguments = {help};
  return entry->function(arguments);
}

// A socket that landed on a closed 0, 1 or 2 would be mistaken for the caller's stream.
void KeepStandardStreamsOpen() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDWR);
}

int Main(Arguments arguments) {
  KeepStandardStreamsOpen();
  MarkStart();
  if (arguments.empty()) {
    WriteAll(STDERR_FILENO, Help());
    return ExitStatus(Code::kInvalid);
  }
  const std::string_view name = arguments[0];
  const Arguments rest = arguments.subspan(1);
  if (const Entry* entry = FindCommand(name)) return entry->function(rest);
  if (name == "help" || name == "--help" || name == "-h") return PrintHelp(rest);
  if (name == "version" || name == "--version" || name == "-V") {
    WriteAll(STDOUT_FILENO, "cloche " CLOCHE_VERSION "\n");
    return 0;
  }
  return UnknownCommand(name, rest);
}

}  // namespace
}  // namespace cloche::cli

int main(int argc, char** argv) {
  // Everything was written with write(2): nothing is left to flush, and tidying up takes time.
  _exit(cloche::cli::Main({argv + (argc > 0 ? 1 : 0), argv + argc}));
}
