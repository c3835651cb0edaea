#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::race {

// Any bytes as text of an HTML page, also inside a quoted attribute. Characters that would deceive
// a reader are made visible as on a terminal; newlines and tabs stay.
std::string EscapeHtml(std::string_view text);

struct Bar {
  std::string label;
  std::optional<double> value;  // absent: not known
  std::string text;             // the value as people read it
  std::string css_class;        // "won", "passed", "failed" or "cancelled"
};

// Horizontal bars as inline SVG, coloured by the classes of the page it is put into. "" when no
// value is known.
std::string BarPlot(const std::string& title, const std::string& note,
                    const std::vector<Bar>& bars);

}  // namespace cloche::race
