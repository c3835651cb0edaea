#include "policy/errno_text.h"

#include <array>
#include <cerrno>

namespace cloche {
namespace {

struct ErrnoText {
  int number;
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array kErrnos = {
    ErrnoText{EPERM, "EPERM", "not permitted"},
    ErrnoText{ENOENT, "ENOENT", "no such file or directory"},
    ErrnoText{EIO, "EIO", "input/output error"},
    ErrnoText{E2BIG, "E2BIG", "too long"},
    ErrnoText{EBADF, "EBADF", "bad descriptor"},
    ErrnoText{EAGAIN, "EAGAIN", "not now"},
    ErrnoText{ENOMEM, "ENOMEM", "out of memory"},
    ErrnoText{EACCES, "EACCES", "access denied"},
    ErrnoText{EBUSY, "EBUSY", "in use"},
    ErrnoText{EEXIST, "EEXIST", "exists already"},
    ErrnoText{EXDEV, "EXDEV", "on another file system"},
    ErrnoText{ENODEV, "ENODEV", "not known to this kernel"},
    ErrnoText{ENOTDIR, "ENOTDIR", "not a directory"},
    ErrnoText{EISDIR, "EISDIR", "is a directory"},
    ErrnoText{EINVAL, "EINVAL", "refused by the kernel as invalid"},
    ErrnoText{ENFILE, "ENFILE", "too many open files on this machine"},
    ErrnoText{EMFILE, "EMFILE", "too many open files"},
    ErrnoText{EFBIG, "EFBIG", "file too large"},
    ErrnoText{ENOSPC, "ENOSPC", "no space left"},
    ErrnoText{EROFS, "EROFS", "read-only file system"},
    ErrnoText{ERANGE, "ERANGE", "out of range"},
    ErrnoText{ENAMETOOLONG, "ENAMETOOLONG", "name too long"},
    ErrnoText{ENOSYS, "ENOSYS", "not in this kernel"},
    ErrnoText{ELOOP, "ELOOP", "a symbolic link where none may be"},
    ErrnoText{EPROTO, "EPROTO", "malformed message"},
    ErrnoText{EOVERFLOW, "EOVERFLOW", "an owner that has no id inside"},
    ErrnoText{EOPNOTSUPP, "EOPNOTSUPP", "not supported here"},
    ErrnoText{ETIMEDOUT, "ETIMEDOUT", "timed out"},
    ErrnoText{ESTALE, "ESTALE", "it has moved"},
    ErrnoText{EUSERS, "EUSERS", "too many user namespaces within each other"},
    ErrnoText{EDQUOT, "EDQUOT", "quota used up"},
};

const ErrnoText* FindErrno(int number) {
  for (const ErrnoText& each : kErrnos)
    if (each.number == number) return &each;
  return nullptr;
}

}  // namespace

std::string_view ErrnoName(int errno_value) {
  const ErrnoText* text = FindErrno(errno_value);
  return text ? text->name : "";
}

std::string_view ErrnoMeaning(int errno_value) {
  const ErrnoText* text = FindErrno(errno_value);
  return text ? text->meaning : "failed";
}

}  // namespace cloche
