#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cloche::apply {

// Which files a project had when a sandbox was made. If both sides have replaced a file since,
// nothing else shows that it was there. Stores part of the hash of each name. Directories are
// recorded, too: if somebody swapped one for another, the files in it may be just as old.
class BirthNames {
 public:
  // Lists the project, leaving out git's own files and caches. nullopt: too many names to record.
  static std::optional<BirthNames> Note(const std::string& project, const std::string& home,
                                        int64_t since_ns);
  static std::optional<BirthNames> Decode(const std::string& text);
  std::string Encode() const;

  // nullopt: unknown. `below` is relative to the project.
  std::optional<bool> Had(const std::string& below) const;
  std::optional<bool> HadDirectory(const std::string& below) const;
  std::optional<uint64_t> DirectoryWas(const std::string& below) const;  // its inode
  std::optional<uint32_t> ModeWas(const std::string& below) const;       // of a directory

 private:
  struct Noted {
    uint64_t name = 0;   // part of the hash of its name
    uint64_t inode = 0;  // 0: created or changed since then
    std::optional<uint32_t> mode;
  };
  const Noted* Find(const std::string& below) const;
  std::vector<Noted> directories_;     // sorted; empty: too many to record
  std::vector<uint64_t> old_, young_;  // sorted; `young_`: created or replaced since then
};

}  // namespace cloche::apply
