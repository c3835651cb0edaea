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

// Under which other names a path can be reached: by the symbolic links of reality and by those that
// the sandbox made. A link that one side has and the other has not counts: which of them stays is
// decided later. A `.git` file and what settings of git name (core.hooksPath, core.attributesFile,
// include.path) lead elsewhere like links.
class Links {
 public:
  // In the project, and where the home and the system have trigger files.
  Status Find(const StateLayout& layout, const Wish& wish);

  struct Names {
    std::vector<std::string> paths;  // without the one that was asked for
    bool all = true;                 // false: there are more
  };
  // Of a link also those that pass it. Of many paths together there is a bound, too.
  Names NamesOf(const std::string& path, bool is_link);

  const NamedFiles& named() const { return named_files_; }
  const std::string& make_commands() const { return make_commands_; }  // as FileChange has them
  bool whole() const { return whole_; }  // false: there is more than was looked at

 private:
  Status TakeTheSandboxs(const StateLayout& layout, const Wish& wish);
  void Search(int directory, const char* name, const std::string& path, size_t levels);
  void SearchGit(int directory, const std::string& path, bool is_directory);
  void SearchNaming(int directory, const char* name, const std::string& path);
  void SearchAbove(const std::string& project);
  // The names that what a file of settings leads to has by it.
  struct GitNames {
    std::string directory;  // of the repository
    std::string top;        // of its work tree; "" = only core.worktree says it
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
  std::unordered_map<std::string, std::set<std::string>> leads_;  // what is there: links to it
  std::unordered_map<std::string, std::set<std::string>> hops_;   // a link: those that pass it
  std::set<std::pair<std::string, std::string>> settings_;        // of git: repository and file
  std::unordered_map<std::string, std::vector<std::string>> lists_;
  NamedFiles named_files_;
  std::string make_commands_;
  std::string project_;
  std::string home_;
  size_t seen_ = 0, seen_hops_ = 0, steps_ = 0, named_ = 0;
  bool in_project_ = false;  // what is searched
  bool whole_ = true;
  bool anything_ = false;  // would be put into reality
  bool packaged_ = false;  // and some of it among files of packages
};

}  // namespace cloche::apply
