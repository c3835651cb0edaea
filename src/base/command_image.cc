#include "base/command_image.h"

#include <cstring>

namespace cloche {

std::string EncodeCommand(const Command& command) {
  CommandHeader head;
  head.argc = static_cast<uint32_t>(command.argv.size());
  head.envc = static_cast<uint32_t>(command.env.size());
  head.flags = (command.pty ? kCommandPty : 0) | (command.wants_stdin ? kCommandStdin : 0);
  head.rows = command.rows;
  head.columns = command.columns;
  head.open_files = command.open_files;
  head.processes = command.processes;
  head.file_bytes = command.file_bytes;

  std::vector<uint32_t> offsets;
  std::string text;
  const size_t text_start = sizeof head + 4 * (command.argv.size() + command.env.size());
  auto add = [&](const std::string& value) {
    uint32_t offset = static_cast<uint32_t>(text_start + text.size());
    text.append(value.c_str(), value.size() + 1);
    return offset;
  };
  for (const std::string& value : command.argv) offsets.push_back(add(value));
  for (const std::string& value : command.env) offsets.push_back(add(value));
  head.cwd = add(command.cwd);
  if (!command.other_cwd.empty()) head.other_cwd = add(command.other_cwd);
  head.total = static_cast<uint32_t>(text_start + text.size());

  std::string image(reinterpret_cast<const char*>(&head), sizeof head);
  image.append(reinterpret_cast<const char*>(offsets.data()), 4 * offsets.size());
  return image + text;
}

}  // namespace cloche
