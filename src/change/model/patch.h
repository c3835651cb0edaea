#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "change/model/change.h"
#include "change/model/lines.h"

namespace cloche::change {

// Takes the next piece of a patch; false: no more is wanted.
using PatchSink = std::function<bool(std::string_view)>;

struct PatchOptions {
  std::string root = "/";  // names in the patch are relative to it
  uint32_t context = 3;
  DiffBounds bounds;
};

enum class PatchResult {
  kWritten,
  kNotHeld,  // git has no words for it: directories, fifos, devices, owners, most mode bits,
             // attributes; names outside of the root or within a .git
  kStopped,  // the sink had enough
};

// One change as a unified diff with git's headers, which `git apply` and `patch -p1` accept. The
// contents are those of the sides that are files; of symlinks the target is taken. A binary file,
// or one beyond the bounds, is held whole, which patch does not take; one of more than 64 MiB is
// only named, and git apply refuses such a patch, as it does git's own.
// It is streamed in pieces, and raw: it is not meant for a terminal.
PatchResult WritePatch(const Change& change, std::string_view old_content,
                       std::string_view new_content, const PatchOptions& options,
                       const PatchSink& sink);

// A name as git writes it: in C's quotes when a byte of it is unusual, else as it is.
std::string GitQuote(std::string_view name);

}  // namespace cloche::change
