#pragma once

#include <ctime>
#include <string>

#include "cli/print.h"

namespace cloche::cli {

// Sandboxes, plans and other answers as text. Pure.

std::string DescribeState(const Json& sandbox);                       // "stopped (life limit 1 h)"
std::string DescribeAge(const std::string& rfc3339_utc, time_t now);  // "-" when it is not a time
// The directory it is about, "~/app"; `home` may be empty.
std::string DescribePlace(const std::string& path, const std::string& home);
std::string PlaceOf(const Json& sandbox);  // its project, else where it was made
std::string DescribeLimit(const std::string& name, const Json& value);  // "512 MiB", "unlimited"
// The subject of a promotion's alarm, in two words.
std::string AlarmLabel(const Json& trigger);
std::string DescribeValue(const Json& value);  // anything on one line

// "15 min behind reality: 3 paths of the project changed since, 1 of them also changed here"; ""
// when nothing moved.
std::string DescribeStaleness(const Json& stale);
// All of cloche show.
// Recorded output may be anything: a terminal gets only its lines.
std::string LinesForTerminal(std::string_view bytes);
std::string ServiceTable(const Json& services, bool colour, std::string_view indent = "");
std::string DescribeSandbox(const Json& sandbox, const Json& stale, time_t now, bool colour);
// All of cloche explain; `only_differences` leaves out the plan.
std::string DescribeDropped(const Json& explanation, bool colour);

}  // namespace cloche::cli
