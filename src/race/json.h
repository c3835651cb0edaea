#pragma once

#include <nlohmann/json.hpp>

#include "race/result.h"

namespace cloche::race {

// The output of --json; docs/race.md lists the keys.
nlohmann::ordered_json RaceJson(const Race& race, const Verdict& verdict, const Overlap& overlap);

nlohmann::ordered_json StepJson(const Step& step);

}  // namespace cloche::race
