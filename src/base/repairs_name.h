#pragma once

namespace cloche {

// A directory at the top of some file systems, for what a repair finds: it belongs to the file
// system, and is not part of the data mounted there.
inline constexpr char kRepairsName[] = "lost+found";

}  // namespace cloche
