#include "sys/access_list.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

namespace cloche::sys {

int LetRead(int file, uint32_t uid) {
  struct Entry {
    uint16_t tag, permissions;
    uint32_t id;
  };
  // acl(5) as an extended attribute: owner rw, the user r, group none, mask r, others none.
  struct {
    uint32_t version = 2;
    Entry entries[5];
  } list;
  const Entry entries[] = {
      {0x01, 6, ~0u}, {0x02, 4, uid}, {0x04, 0, ~0u}, {0x10, 4, ~0u}, {0x20, 0, ~0u}};
  memcpy(list.entries, entries, sizeof entries);
  return fsetxattr(file, "system.posix_acl_access", &list, sizeof list, 0) < 0 ? -errno : 0;
}

}  // namespace cloche::sys
