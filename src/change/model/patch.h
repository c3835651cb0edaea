#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "change/model/change.h"
#include "change/model/lines.h"

namespace cloche::change {

// Takes the next piece of a patch; false: it wants no more.
using PatchSink = std::function<bool(std::string_view)>;

struct PatchOptions {
  std::string root = "/";  // names in the patch are relative to it
  uint32_t context = 3;
  DiffBounds bounds;
};

enum class PatchResult {
  kWritten,
  kNotHeld,  // git cannot express it: directories, fifos, devices, owners, most mode
             // bits, attributes; names outside the root or within a .git
  kStopped,  // the sink wants no more
};

// Writes one change as a unified diff with git's headers, which `git apply` and `patch -p1` accept.
// The contents are those of the file sides; for symlinks the target is used. A binary file, or one
// beyond the bounds, is included whole, which patch does not accept; a file of more than 64 MiB is
// only named, and git apply refuses such a patch, as it does git's own.
//
// The patch is streamed in pieces, and raw: do not print it to a terminal.
PatchResult WritePatch(const Change& change, std::string_view old_content,
                       std::string_view new_content, const PatchOptions& options,
                       const PatchSink& sink);

// A name as git writes it: in C quotes if it has unusual bytes, otherwise as it is.
std::string GitQuote(std::string_view name);

}  // namespace cloche::change
