#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::apply {

// Files that run, or are read, because another file of reality names them: a filter in the settings
// of git, the script of a hook. They are judged as the class that they have by it.
class NamedFiles {
 public:
  struct As {
    std::string id;   // of the class
    std::string why;  // "filter.x.clean in /p/.git/config"
  };

  // Every word of a command that may be a path, below `directory` if it is relative. Words are many
  // and paths are compared exactly, so what is no path does no harm.
  void AddCommand(std::string_view command, const std::string& directory, const std::string& home,
                  const As& as);
  void Add(const std::string& path, const As& as);

  // What this file names. Gives the variables that recipes of a makefile start.
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
