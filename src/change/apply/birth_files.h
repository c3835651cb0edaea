#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "change/apply/birth_names.h"
#include "sys/fd.h"

namespace cloche::apply {

// Git's knowledge of a project when a sandbox is made: the commit, and which files differ from it.
// `cloche-git note` records it at that moment.
struct BirthNote {
  std::string project;  // the repository's work tree
  std::string commit;
  std::set<std::string> dirty;      // below the project
  std::optional<BirthNames> names;  // of its files; not from git
};

// Fails if there is no repository, or none that can be trusted.
Result<BirthNote> NoteBirth(const std::string& project, int64_t since_ns);

struct BirthFile {
  bool exists = false;
  bool clean = true;  // as in git; otherwise we know only that it existed
  bool executable = false;
  std::string text;
};

// A project's files as the sandbox first saw them, as far as git has them. Asks cloche-git, which
// reads with our rights and runs nothing.
class BirthFiles {
 public:
  BirthFiles() = default;  // knows nothing
  explicit BirthFiles(BirthNote note) : note_(std::move(note)) {}
  ~BirthFiles();
  BirthFiles(const BirthFiles&) = delete;
  BirthFiles& operator=(const BirthFiles&) = delete;

  // Forks a process that becomes cloche-git on the first question; by then we may no longer be
  // allowed to start one.
  void Prepare();

  // Whether there was a file or a symlink, tracked by git or not. nullopt: unknown.
  std::optional<bool> Had(const std::string& path) const;

  // Whether there was anything, or a directory. nullopt: unknown.
  std::optional<bool> HadAnything(const std::string& path) const;
  std::optional<bool> HadDirectory(const std::string& path) const;

  // The inode of the directory that was there. nullopt: unknown.
  std::optional<uint64_t> DirectoryWas(const std::string& path) const;

  // The mode of the directory that was there. nullopt: unknown.
  std::optional<uint32_t> ModeWas(const std::string& path) const;

  // nullopt: unknown.
  std::optional<BirthFile> Find(const std::string& path);

 private:
  // The path relative to the project. nullopt: it is elsewhere, or no names were recorded.
  std::optional<std::string> Noted(const std::string& path) const;
  std::optional<BirthFile> Ask(const std::string& below);

  BirthNote note_;
  bool failed_ = false;
  pid_t child_ = -1;
  sys::Fd to_, from_;
};

}  // namespace cloche::apply
