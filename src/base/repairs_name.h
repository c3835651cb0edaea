#pragma once

namespace cloche {

// At the top of some file systems, for what a repair finds: it is theirs, and no part of data that
// is mounted there.
inline constexpr char kRepairsName[] = "lost+found";

}  // namespace cloche
