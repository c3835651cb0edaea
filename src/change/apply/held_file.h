#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "change/apply/reality.h"
#include "change/model/sha256.h"
#include "sys/fd.h"

namespace cloche::apply {

// The properties that a rename leaves unchanged, so not the ctime.
struct FileFacts {
  uint32_t mode = 0, uid = 0, gid = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  std::string attributes;  // names and values
  bool operator==(const FileFacts&) const = default;
};

// A file while a rename takes it away. While it is held, its inode is not reused, and a read lease
// makes others wait who open it for writing. Where a lease is not possible (filesystems without
// leases, other users' files), its content is compared instead.
class HeldFile {
 public:
  explicit HeldFile(const Name& at) : HeldFile(at.directory->get(), at.name) {}
  HeldFile(int directory, const std::string& name);

  bool exists() const { return file_.valid(); }
  const Identity& identity() const { return identity_; }
  const FileFacts& facts() const { return facts_; }
  uint64_t names() const { return names_; }
  // A process has it open for writing; what it writes would go with the old file.
  bool has_writer() const { return has_writer_; }
  // After the rename: nobody has changed it or waits to write to it.
  bool IsUnchanged() const;

 private:
  std::optional<FileFacts> Look() const;

  sys::Fd file_, content_;
  Identity identity_;
  FileFacts facts_;
  uint64_t names_ = 0;
  bool leased_ = false, has_writer_ = false;
  std::optional<change::Sha256> hash_;  // set if there is no lease
};

// Whether a process has it open for writing; false if the kernel cannot tell.
bool HasWriter(int directory, const std::string& name);

// Tells the user what to do about such a process.
std::string OpenForWritingCure(const std::string& path);

// The kernel signals us when somebody waits for a lease. Call before holding any file.
void IgnoreLeaseBreaks();

// Hashes all of the content. nullopt: not readable.
std::optional<change::Sha256> ContentHash(int file);

}  // namespace cloche::apply
