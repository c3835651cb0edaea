#pragma once

#include <string>

#include "cli/print.h"

namespace cloche::cli {

// The lines on standard error after a command has ended. Pure: text in, text out.

enum class AfterCommand { kDiscarded, kStays };  // run and disposable shells; commands of a sandbox

struct ClientTiming {
  double connected_ms = 0;
  double first_frame_ms = 0;
  double total_ms = 0;
};

// Lines that begin with "cloche: ": why it failed or was killed, dropped output, what changed.
std::string DescribeResult(const Json& result, AfterCommand after, bool quiet, bool colour);

// "2 files added, 3 changed, 1 deleted"; "" when nothing is.
std::string DescribeChanges(const Json& changes);

std::string TimingTable(const Json& result, const ClientTiming& client);
void AddClientTiming(Json& result, const ClientTiming& client);

}  // namespace cloche::cli
