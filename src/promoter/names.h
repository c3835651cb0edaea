#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cloche::promoter {

// Which files a project had when a sandbox was made: of one that both sides replaced since, nothing
// else tells that it was there. Of each name only a part of its hash.
class Names {
 public:
  // Looks at the project, without what git and caches keep for themselves. Nothing: there are more
  // than can be noted.
  static std::optional<Names> Note(const std::string& project, const std::string& home,
                                   int64_t since_ns);
  static std::optional<Names> Decode(const std::string& text);
  std::string Encode() const;

  // Nothing: nobody knows. `below` is relative to the project.
  std::optional<bool> Had(const std::string& below) const;

 private:
  std::vector<uint64_t> old_, young_;  // sorted; the latter were made, or made anew, since then
};

}  // namespace cloche::promoter
