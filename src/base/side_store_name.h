#pragma once

namespace cloche {

// A directory of promotions on another file system than the home's: at its top, or in the project.
// It holds what they replaced, so no sandbox sees it and none can write there.
inline constexpr char kSideStoreName[] = ".cloche-promotions";

}  // namespace cloche
