#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche {

// "512M" -> 536870912. K, M, G, T are powers of 1024; "MiB" and "MB" mean the same; plain = bytes.
Result<uint64_t> ParseBytes(std::string_view text);
std::string FormatBytes(uint64_t bytes);  // "512 MiB", "1.5 GiB"

// "60s", "5m", "1h", "2d", "1.5s", "250ms" -> seconds; plain = seconds.
Result<double> ParseDuration(std::string_view text);
std::string FormatDuration(double seconds);  // exact: "1 h", "5 min", "1.5 s", "250 ms"
std::string FormatAge(double seconds);       // one unit is enough: "3 h"

Result<double> ParseCpu(std::string_view text);  // CPUs: "1.5"
Result<uint64_t> ParseCount(std::string_view text);

bool IsUtf8(std::string_view text);

// Overwrites what must not stay in memory, then empties it.
void Wipe(std::string& text);

// Every text that a sandbox or a remote side could have chosen goes through here before it reaches
// a terminal. Control characters (newline too), bidirectional and invisible characters and bytes
// that are not UTF-8 become \xNN or \u{NNNN}; everything printable stays as it is.
std::string EscapeForTerminal(std::string_view text);

// Columns of a terminal that escaped text takes.
size_t DisplayWidth(std::string_view text);

// 1 to 63 of [a-z0-9-], the first a letter.
bool IsValidSandboxName(std::string_view name);

// Columns aligned by display width. Cells are escaped here, so they may hold anything.
class Table {
 public:
  explicit Table(std::vector<std::string> header);  // empty: no header line
  void AlignRight(size_t column);
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  std::string Render(bool colour, std::string_view indent = "") const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

}  // namespace cloche
