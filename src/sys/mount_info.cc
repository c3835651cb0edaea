#include "sys/mount_info.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "sys/file.h"

namespace cloche::sys {
namespace {

constexpr size_t kMostText = 8 << 20;

// The kernel writes space, tab, newline and backslash as three octal digits.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain.push_back(
          static_cast<char>(strtol(std::string(text.substr(i + 1, 3)).c_str(), nullptr, 8)));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

std::string_view Word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

std::vector<MountInfo> ParseMountInfo(const std::string& text) {
  std::vector<MountInfo> mounts;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // id parent major:minor root target options [tags] - type source super-options
    MountInfo mount;
    mount.id = strtoull(std::string(Word(line)).c_str(), nullptr, 10);
    Word(line);
    mount.device = Word(line);
    mount.root = Unescaped(Word(line));
    mount.target = Unescaped(Word(line));
    mount.options = Word(line);
    while (!line.empty() && Word(line) != "-") {
    }
    mount.fs_type = Word(line);
    mount.source = Unescaped(Word(line));
    if (!mount.target.empty()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

int ReadMountInfo(int file, std::vector<MountInfo>& mounts) {
  std::string text;
  if (lseek(file, 0, SEEK_SET) < 0) return -errno;
  if (int error = ReadAll(file, text, kMostText); error < 0) return error;
  mounts = ParseMountInfo(text);
  return 0;
}

}  // namespace cloche::sys
