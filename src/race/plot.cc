#include "race/plot.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "race/figures.h"

namespace cloche::race {
namespace {

// In units of the viewBox.
constexpr double kWidth = 340;
constexpr double kLabel = 92;
constexpr double kValue = 76;
constexpr double kRow = 22;
constexpr double kBar = 13;
constexpr size_t kLabelColumns = 13;

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find_first_of("\n\t");
    for (const char c : EscapeForTerminal(text.substr(0, end))) {
      switch (c) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        case '"':
          out += "&quot;";
          break;
        case '\'':
          out += "&#39;";
          break;
        default:
          out += c;
      }
    }
    if (end == std::string_view::npos) break;
    out += text[end];
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string BarPlot(const std::string& title, const std::string& note,
                    const std::vector<Bar>& bars) {
  double least = 0;
  double most = 0;
  bool any = false;
  for (const Bar& bar : bars) {
    if (!bar.value) continue;
    any = true;
    least = std::min(least, *bar.value);
    most = std::max(most, *bar.value);
  }
  if (!any) return "";
  const double span = most > least ? most - least : 1;
  const double room = kWidth - kLabel - kValue;
  const auto x = [&](double value) { return kLabel + (value - least) / span * room; };
  const double height = kRow * static_cast<double>(bars.size()) + 4;

  std::string svg = fmt::format(
      "<figure class=\"plot\"><figcaption><b>{}</b> <span>{}</span></figcaption>\n"
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
      EscapeHtml(title), EscapeHtml(note), kWidth, height, EscapeHtml(title));
  double y = 2;
  for (const Bar& bar : bars) {
    const double middle = y + kRow / 2;
    svg += fmt::format("<g class=\"{}\"><title>{}: {}</title>", bar.css_class,
                       EscapeHtml(bar.label), EscapeHtml(bar.text));
    svg += fmt::format("<text class=\"label\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", kLabel - 8,
                       middle, EscapeHtml(Clip(EscapeForTerminal(bar.label), kLabelColumns)));
    double end = x(0);
    if (bar.value) {
      const double from = std::min(x(0), x(*bar.value));
      const double width = std::max(std::max(x(0), x(*bar.value)) - from, 1.5);
      end = from + width;
      svg +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\"/>",
                      from, middle - kBar / 2, width, kBar);
    }
    svg += fmt::format("<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n", end + 6,
                       middle, bar.value ? EscapeHtml(bar.text) : "–");
    y += kRow;
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{0:.1f}\" y1=\"2\" x2=\"{0:.1f}\" y2=\"{1}\"/>\n",
                     x(0), height - 2);
  return svg + "</svg></figure>\n";
}

}  // namespace cloche::race
