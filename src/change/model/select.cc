#include "change/model/select.h"

#include <fmt/core.h>

namespace cloche::change {

Result<std::string> ApplyChosen(const LineDiff& diff, const std::vector<bool>& chosen) {
  if (chosen.size() != diff.blocks.size())
    return Fail(Code::kInvalid, fmt::format("apply chosen blocks: {} choices for {} blocks",
                                            chosen.size(), diff.blocks.size()));
  std::string text;
  size_t written = 0;  // of the old lines
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Block& block = diff.blocks[i];
    if (!chosen[i]) continue;
    text += diff.old_lines.Range(written, block.old_first);
    text += diff.new_lines.Range(block.new_first, block.new_first + block.new_count);
    written = block.old_first + block.old_count;
  }
  text += diff.old_lines.Range(written, diff.old_lines.size());
  return text;
}

}  // namespace cloche::change
