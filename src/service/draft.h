#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::service {

// A directory of the sandbox and its replacement, made beside it. A directory that is a mount of
// its own cannot be replaced: there the replacement is made inside, and its entries replace the
// others.
class Draft {
 public:
  static Result<Draft> Begin(const std::string& path, size_t number);
  static Result<Draft> Resume(const std::string& path, size_t number);

  int original() const { return original_.get(); }
  int copy() const { return copy_.get(); }   // empty at first
  std::vector<std::string> NotData() const;  // entries of the original
  Status PutInPlace() const;

 private:
  static Result<Draft> Open(const std::string& path, size_t number, bool is_new);
  Status Replace(int from, int to, const std::string& old_name, const std::string& name) const;
  Status ReplaceEntries() const;

  std::string path_;
  std::string name_;   // the original's, in its parent
  std::string draft_;  // the copy's
  sys::Fd parent_;     // of both; where it is a mount of its own, the original
  sys::Fd original_;
  sys::Fd copy_;
  bool is_mount_ = false;
};

std::unexpected<Error> CopyFailed(const char* verb, const std::string& path, int error);

}  // namespace cloche::service
