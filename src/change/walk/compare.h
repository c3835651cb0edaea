#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "change/model/change.h"
#include "change/walk/walk.h"

namespace cloche::walk {

// A change and the texts it was found in, for a patch.
struct Compared {
  change::Change change;
  std::string old_text, new_text;  // only if requested and small enough
};

struct CompareOptions {
  bool lines = false;      // count lines
  bool texts = false;      // keep texts
  bool one_owner = false;  // without privileges, owners do not change and groups may be lost
  std::string project, home;
};

// nullopt: the two sides are equal. A file the caller may not read has no hash.
Result<std::optional<Compared>> CompareEntry(const Entry& entry, const CompareOptions& options);

}  // namespace cloche::walk
