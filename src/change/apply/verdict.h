#pragma once

#include <optional>
#include <string>

#include "change/model/change.h"
#include "change/rules/cases.h"

namespace cloche::apply {

// What is known of a path at the moment the sandbox was made.
enum class Seen : uint8_t {
  kAsNow,    // reality has not changed it since
  kNothing,  // nothing was there
  kHidden,   // something was, and is, which it was not shown
  kText,     // a file with a text that is known
  kGone,     // something was, which reality has deleted since
  kUnknown,  // reality has changed it since, from what to what nobody knows
};

// One path before anything is decided. `change` is from what reality has now to what the sandbox
// has.
struct Situation {
  const change::Change* change = nullptr;
  Seen seen = Seen::kAsNow;
  std::string base_text;     // of kText
  bool base_exec = false;    // of kText
  std::string ours, theirs;  // the texts of reality and sandbox, where they are files
  bool texts = false;        // both are whole
  std::optional<rules::Real> obstacle;
  // Of a directory that both have: the mode the sandbox saw, where only the mode differs.
  std::optional<uint32_t> mode_seen;
  std::string unsure;  // why times of change do not tell what reality did; "": they do
};

// Nothing: the sandbox did not change it; only reality did.
std::optional<rules::Incoming> IncomingOf(const Situation& situation);
rules::Real RealOf(const Situation& situation, rules::Incoming incoming);

}  // namespace cloche::apply
