#pragma once

#include <optional>
#include <string>

#include "change/model/change.h"
#include "change/rules/cases.h"

namespace cloche::apply {

// Our knowledge of a path at the time the sandbox was made.
enum class Seen : uint8_t {
  kAsNow,    // reality has not changed it since
  kNothing,  // nothing was there
  kHidden,   // something was and is there, hidden from the sandbox
  kText,     // a file with known text
  kGone,     // something that reality has deleted since
  kUnknown,  // reality has changed it since, but from what is unknown
};

// One path before the decision. `change` leads from what reality has now to what the sandbox has.
struct Situation {
  const change::Change* change = nullptr;
  Seen seen = Seen::kAsNow;
  std::string base_text;     // for kText
  bool base_exec = false;    // for kText
  std::string ours, theirs;  // the texts of reality and sandbox, if they are files
  bool texts = false;        // both are complete
  std::optional<rules::Real> obstacle;
  // For a directory on both sides: the mode the sandbox saw, if only the mode differs.
  std::optional<uint32_t> mode_seen;
  std::string unsure;  // why ctimes do not show what reality did; "": they do
};

// nullopt: only reality changed it, not the sandbox.
std::optional<rules::Incoming> IncomingOf(const Situation& situation);
rules::Real RealOf(const Situation& situation, rules::Incoming incoming);

}  // namespace cloche::apply
