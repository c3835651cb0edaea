#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "change/apply/birth_names.h"
#include "sys/fd.h"

namespace cloche::apply {

// What git knows of a project at the moment a sandbox was made: the commit, and which files were
// not as it has them. Taken by `cloche-git note` right then.
struct BirthNote {
  std::string project;  // the repository's work tree
  std::string commit;
  std::set<std::string> dirty;      // below the project
  std::optional<BirthNames> names;  // of its files; not of git
};

// Fails where there is no repository, or none that can be relied on.
Result<BirthNote> NoteBirth(const std::string& project, int64_t since_ns);

struct BirthFile {
  bool exists = false;
  bool clean = true;  // as git has it; else only that it was there is known
  bool executable = false;
  std::string text;
};

// The files of a project as a sandbox first saw them, as far as git has them. Asks cloche-git,
// which reads with our rights and runs nothing.
class BirthFiles {
 public:
  BirthFiles() = default;  // knows nothing
  explicit BirthFiles(BirthNote note) : note_(std::move(note)) {}
  ~BirthFiles();
  BirthFiles(const BirthFiles&) = delete;
  BirthFiles& operator=(const BirthFiles&) = delete;

  // Leaves a process behind that becomes cloche-git when something is asked, because we may start
  // none any more by then.
  void Prepare();

  // Whether there was a file or a symlink, of git or not. Nothing: nobody knows.
  std::optional<bool> Had(const std::string& path) const;

  // Whether there was anything at all, or a directory. Nothing: nobody knows.
  std::optional<bool> HadAnything(const std::string& path) const;
  std::optional<bool> HadDirectory(const std::string& path) const;

  // Which directory was there: its inode. Nothing: nobody knows.
  std::optional<uint64_t> DirectoryWas(const std::string& path) const;

  // Which mode a directory had. Nothing: nobody knows.
  std::optional<uint32_t> ModeWas(const std::string& path) const;

  // Nothing: nobody knows.
  std::optional<BirthFile> Find(const std::string& path);

 private:
  // Below the project. Nothing: it is elsewhere, or nothing was noted.
  std::optional<std::string> Noted(const std::string& path) const;
  std::optional<BirthFile> Ask(const std::string& below);

  BirthNote note_;
  bool failed_ = false;
  pid_t child_ = -1;
  sys::Fd to_, from_;
};

}  // namespace cloche::apply
