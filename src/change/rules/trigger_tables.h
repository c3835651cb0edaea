#pragma once

#include <span>

#include "change/rules/triggers.h"

namespace cloche::rules {

// The parts of the table, in its order.
std::span<const TriggerClass> ProjectTriggers();  // version control, build services, packages
std::span<const TriggerClass> BuildTriggers();    // builds, tasks, tests, linters, containers
std::span<const TriggerClass> EditorTriggers();   // editors and agents
std::span<const TriggerClass> HomeTriggers();     // shells, programs and desktops
std::span<const TriggerClass> OtherTriggers();    // single tools
std::span<const TriggerClass> SystemTriggers();   // services, access, commands, and every file

}  // namespace cloche::rules
