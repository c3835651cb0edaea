#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cloche::apply {

// Which files a project had when a sandbox was made: of one that both sides replaced since, nothing
// else tells that it was there. Of each name only a part of its hash. And which directories: one
// that somebody put in the place of another may hold files that are as old as those it held.
class BirthNames {
 public:
  // Looks at the project, without what git and caches keep for themselves. Nothing: there are more
  // than can be noted.
  static std::optional<BirthNames> Note(const std::string& project, const std::string& home,
                                        int64_t since_ns);
  static std::optional<BirthNames> Decode(const std::string& text);
  std::string Encode() const;

  // Nothing: nobody knows. `below` is relative to the project.
  std::optional<bool> Had(const std::string& below) const;
  std::optional<bool> HadDirectory(const std::string& below) const;
  std::optional<uint64_t> DirectoryWas(const std::string& below) const;  // its inode
  std::optional<uint32_t> ModeWas(const std::string& below) const;       // of a directory

 private:
  struct Noted {
    uint64_t name = 0;   // the same part of the hash
    uint64_t inode = 0;  // 0: it was made, or changed, since then
    std::optional<uint32_t> mode;
  };
  const Noted* Find(const std::string& below) const;
  std::vector<Noted> directories_;     // sorted; none: there are more than can be noted
  std::vector<uint64_t> old_, young_;  // sorted; the latter were made, or made anew, since then
};

}  // namespace cloche::apply
