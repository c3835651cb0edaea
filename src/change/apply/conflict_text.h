#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "change/model/change.h"
#include "change/walk/layer_file.h"

namespace cloche::apply {

inline constexpr size_t kMostLinesShown = 60;

// nullopt: not readable, or too large to merge.
std::optional<std::string> ReadText(const walk::LayerFile& place);

// Makes `text` the content of a change's new side.
void SetText(change::Change& change, std::string_view old_text, std::string_view text);

// Both sides for a person to read, as many lines as fit on a screen.
std::vector<std::string> DifferingLines(std::string_view ours, std::string_view theirs);
std::vector<std::string> ConflictLines(std::string_view merged);  // with markers

}  // namespace cloche::apply
