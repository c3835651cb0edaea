#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/state_layout.h"
#include "change/apply/named_files.h"
#include "change/apply/plan.h"

namespace cloche::apply {

// The other names under which a path can be reached, through symlinks in reality or in the sandbox.
// A link that only one side has counts: which side stays is decided later. `.git` files and git
// settings (core.hooksPath, core.attributesFile, include.path) lead elsewhere like links.
class Links {
 public:
  // Searches the project, and the places in the home directory and the system that hold trigger
  // files.
  Status Find(const StateLayout& layout, const Wish& wish);

  struct Names {
    std::vector<std::string> paths;  // without the given path
    bool all = true;                 // false: there are more
  };
  // For a link, also the names that pass through it. The names of all paths together are limited,
  // too.
  Names NamesOf(const std::string& path, bool is_link);

  const NamedFiles& named() const { return named_files_; }
  const std::string& make_commands() const { return make_commands_; }  // as in FileChange
  bool whole() const { return whole_; }  // false: the search was cut short

 private:
  Status TakeTheSandboxs(const StateLayout& layout, const Wish& wish);
  void Search(int directory, const char* name, const std::string& path, size_t levels);
  void SearchGit(int directory, const std::string& path, bool is_directory);
  void SearchNaming(int directory, const char* name, const std::string& path);
  void SearchAbove(const std::string& project);
  // The names that git settings give the files they lead to.
  struct GitNames {
    std::string directory;  // of the repository
    std::string top;        // of its work tree; "" = only core.worktree says
  };
  void ReadGitConfig(const std::string& file, const GitNames& names, size_t depth);
  void Expand(const std::string& path, std::string_view glob);
  void Follow(const std::string& origin, std::string at, std::string rest, size_t depth);
  const std::vector<std::string>& NamesIn(const std::string& path);  // "" = the root
  const std::optional<std::string>& RealTarget(const std::string& path);
  void Add(const std::string& path, std::string target);

  std::map<std::string, std::set<std::string>> targets_;
  std::unordered_set<std::string> plain_;  // a link on one side only
  std::unordered_map<std::string, std::optional<std::string>> real_;
  std::unordered_map<std::string, std::set<std::string>> leads_;  // target -> links to it
  std::unordered_map<std::string, std::set<std::string>> hops_;   // link -> links through it
  std::set<std::pair<std::string, std::string>> settings_;        // of git: repository and file
  std::unordered_map<std::string, std::vector<std::string>> lists_;
  NamedFiles named_files_;
  std::string make_commands_;
  std::string project_;
  std::string home_;
  size_t seen_ = 0, seen_hops_ = 0, steps_ = 0, named_ = 0;
  bool in_project_ = false;  // searching the project now
  bool whole_ = true;
  bool anything_ = false;  // the promotion would put something into reality
  bool packaged_ = false;  // and some of it among packaged files
};

}  // namespace cloche::apply
