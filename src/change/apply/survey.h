#pragma once

#include <map>
#include <optional>
#include <string>

#include "change/rules/cases.h"
#include "change/walk/layer_file.h"

namespace cloche::apply {

// Looks for anything in reality that prevents any change to a path, before something is touched.
// Goes by descriptor from directory to directory, through no symlink and onto no other mount.
class Survey {
 public:
  // `target` is the overlay that contains the path. nullopt: no obstacle.
  std::optional<rules::Real> Obstacle(const std::string& target, const std::string& path);

  // The file that is there now; nullopt if there is none, or it cannot be reached.
  std::optional<walk::LayerFile> Find(const std::string& target, const std::string& path);

 private:
  // Changes come sorted: the next one is often in the same directory.
  struct Directory {
    std::string path;
    walk::SharedFd fd;
    int error = 0;
    bool writable = false, sticky = false, immutable = false, folds_case = false;
    uint32_t owner = 0;
  };
  const Directory& Parent(const std::string& target, const std::string& path);

  std::map<std::string, sys::Fd> targets_;
  Directory last_;
};

}  // namespace cloche::apply
