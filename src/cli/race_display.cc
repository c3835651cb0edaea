#include "cli/race_display.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "cli/print.h"
#include "cli/terminal.h"

namespace cloche::cli {
namespace {

bool CanRedraw() {
  const char* terminal = getenv("TERM");
  return isatty(STDERR_FILENO) && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

RaceDisplay::RaceDisplay(bool quiet) : quiet_(quiet), live_(!quiet && CanRedraw()) {}

void RaceDisplay::Note(const std::string& text) {
  if (!quiet_) WriteAll(STDERR_FILENO, "cloche: " + EscapeForTerminal(text) + "\n");
}

void RaceDisplay::Event(const std::string& text) {
  if (!live_) Note(text);
}

void RaceDisplay::Draw(const std::vector<race::LaneResult>& lanes,
                       const std::vector<race::LaneProgress>& progress) {
  if (!live_) return;
  const WindowSize size = ReadWindowSize(STDERR_FILENO);
  // The last column stays free: a full line would wrap on some terminals, the last row would
  // scroll.
  const auto lines =
      race::ProgressLines(lanes, progress, size.columns > 1 ? size.columns - 1u : 1u,
                          size.rows > 1 ? size.rows - 1u : 1u, ColourWanted(STDERR_FILENO));
  std::string text = drawn_ > 0 ? fmt::format("\x1b[{}A\r", drawn_) : "";
  for (const std::string& line : lines) text += line + "\x1b[K\n";
  WriteAll(STDERR_FILENO, text + "\x1b[J");
  drawn_ = lines.size();
}

void RaceDisplay::Clear() {
  if (drawn_ > 0) WriteAll(STDERR_FILENO, fmt::format("\x1b[{}A\r\x1b[J", drawn_));
  drawn_ = 0;
}

}  // namespace cloche::cli
