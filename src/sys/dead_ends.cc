#include "sys/dead_ends.h"

#include <fcntl.h>
#include <stdio.h>

#include <charconv>
#include <string>

#include "sys/fd.h"
#include "sys/file.h"

namespace cloche::sys {
namespace {

std::string_view TakeUntil(std::string_view& text, char end) {
  const size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

}  // namespace

// Lines come in pairs with the same prefix: names, then numbers.
DeadEnds ParseDeadEnds(std::string_view snmp) {
  DeadEnds found;
  while (!snmp.empty()) {
    std::string_view names = TakeUntil(snmp, '\n'), numbers = TakeUntil(snmp, '\n');
    const std::string_view protocol = TakeUntil(names, ' ');
    if (TakeUntil(numbers, ' ') != protocol) break;
    while (!names.empty()) {
      const std::string_view name = TakeUntil(names, ' '), number = TakeUntil(numbers, ' ');
      uint64_t* const wanted = protocol == "Ip:" && name == "OutNoRoutes" ? &found.no_route
                               : protocol == "Udp:" && name == "NoPorts"  ? &found.no_port
                                                                          : nullptr;
      if (wanted) std::from_chars(number.data(), number.data() + number.size(), *wanted);
    }
  }
  return found;
}

std::optional<DeadEnds> ReadDeadEnds(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/net/snmp", pid);
  const Fd file(open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file.valid() || ReadAll(file.get(), text, 64 << 10) < 0) return std::nullopt;
  return ParseDeadEnds(text);
}

}  // namespace cloche::sys
