#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "change/apply/reality.h"
#include "change/model/sha256.h"
#include "sys/fd.h"

namespace cloche::apply {

// What a rename leaves as it is. The time of change is not among it.
struct FileFacts {
  uint32_t mode = 0, uid = 0, gid = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  std::string attributes;  // names and values
  bool operator==(const FileFacts&) const = default;
};

// A file while a rename takes it away. As long as it is held no other file gets its number, and
// nobody opens it for writing: a read lease makes them wait. Where there is no lease (file systems
// without them, files of others), its content is compared instead.
class HeldFile {
 public:
  explicit HeldFile(const Name& at) : HeldFile(at.directory->get(), at.name) {}
  HeldFile(int directory, const std::string& name);

  bool exists() const { return file_.valid(); }
  const Identity& identity() const { return identity_; }
  const FileFacts& facts() const { return facts_; }
  uint64_t names() const { return names_; }
  // Somebody has it open for writing: what they write would go with it.
  bool has_writer() const { return has_writer_; }
  // After the rename: nobody has changed it, and nobody waits to write in it.
  bool IsUnchanged() const;

 private:
  std::optional<FileFacts> Look() const;

  sys::Fd file_, content_;
  Identity identity_;
  FileFacts facts_;
  uint64_t names_ = 0;
  bool leased_ = false, has_writer_ = false;
  std::optional<change::Sha256> hash_;  // where there is no lease
};

// Only whether somebody has it open for writing; false where the kernel does not tell.
bool HasWriter(int directory, const std::string& name);

// What to do about one.
std::string OpenForWritingCure(const std::string& path);

// Whoever waits for a lease has us told by a signal. Before any file is held.
void IgnoreLeaseBreaks();

// Of all of the content. Nothing: it cannot be read.
std::optional<change::Sha256> ContentHash(int file);

}  // namespace cloche::apply
