#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace cloche {

// Data that cloche-spawn hands to cloche-diff besides descriptors: where they belong, and the parts
// of an upper that only root can read.

// One overlay of a sandbox, as descriptor numbers; -1 = there is none.
struct LayoutSlot {
  std::string target;  // absolute path inside
  int32_t base = -1;   // its lower directory
  int32_t mask = -1;   // what hides parts of it
  int32_t state = -1;  // the upper that is shown
  int32_t other = -1;  // the upper it is compared with; with none of them it is the base
};

// A directory of an upper that is not simply merged with the base.
struct SpecialDirectory {
  bool of_other = false;
  uint32_t slot = 0;
  std::string path;      // below the upper, without a leading slash; "" = all of it
  bool opaque = false;   // nothing of the base shows through
  std::string redirect;  // the base directory it was; "/..." from the root, else beside it
  uint64_t origin = 0;   // inode of that directory, 0 = not known; stays in cloche-spawn
  bool lost = false;     // that directory is gone: nobody knows what was in it
};

// A file that overlayfs copied into an upper to change it: the base had something there.
struct CopiedFile {
  uint32_t slot = 0;
  std::string path;    // below the upper
  uint64_t inode = 0;  // of that something; the copy may have been moved here
};

struct StateLayout {
  bool against_other = false;
  std::vector<LayoutSlot> slots;
  std::vector<SpecialDirectory> special;
  std::vector<CopiedFile> copied;  // for cloche-promote only
  // Not from the bytes; callers set it: directories that hold a copy of a service's data.
  std::vector<std::string> service_data;
};

// The directories of one upper, by their path.
using SpecialDirectories = std::unordered_map<std::string, const SpecialDirectory*>;
SpecialDirectories SpecialOf(const StateLayout& layout, uint32_t slot, bool of_other);
// The path of the base that shows through at `path` of an upper.
std::string BasePathOf(const SpecialDirectories& special, const std::string& path);

inline constexpr std::string_view kLayoutMagic = "CLL2";
std::string EncodeLayout(const StateLayout& layout);
Result<StateLayout> DecodeLayout(std::string_view bytes);

}  // namespace cloche
