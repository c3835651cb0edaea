#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::apply {

// Files that run, or are read, because another file in reality names them: a filter in git's
// settings, the script of a hook. Each is judged as the class that this gives it.
class NamedFiles {
 public:
  struct As {
    std::string id;   // of the trigger class
    std::string why;  // "filter.x.clean in /p/.git/config"
  };

  // Adds every word of a command that may be a path, below `directory` if it is relative. Paths are
  // compared exactly, so other words do no harm.
  void AddCommand(std::string_view command, const std::string& directory, const std::string& home,
                  const As& as);
  void Add(const std::string& path, const As& as);

  // Adds what this file names. Returns the variables that a makefile's recipes start.
  std::vector<std::string> AddFrom(const std::string& directory, const std::string& name,
                                   std::string_view text, const std::vector<std::string>& below,
                                   const std::string& home);

  std::vector<As> Of(const std::string& path) const;

 private:
  std::map<std::string, std::vector<As>> files_;
  std::vector<std::pair<std::string, As>> globs_;
};

// Whether a file of this name is one that AddFrom reads.
bool NamesOthers(const std::string& directory, std::string_view name);

// Whether git starts the value of this key, in lower case, as a program.
bool IsProgramOfGit(std::string_view key, std::string_view value);

}  // namespace cloche::apply
