#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "change/model/change.h"
#include "change/walk/walk.h"

namespace cloche::walk {

// A change with the texts it was found in, for a patch.
struct Compared {
  change::Change change;
  std::string old_text, new_text;  // only where asked for, and small enough
};

struct CompareOptions {
  bool lines = false;      // count them
  bool texts = false;      // keep them
  bool one_owner = false;  // without privileges nobody is changed to, and a copy may lose its group
  std::string project, home;
};

// Nothing: the two sides are equal. A file that the caller may not read has no hash.
Result<std::optional<Compared>> CompareEntry(const Entry& entry, const CompareOptions& options);

}  // namespace cloche::walk
