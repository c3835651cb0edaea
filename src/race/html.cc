#include "race/html.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "race/figures.h"
#include "race/plot.h"

namespace cloche::race {
namespace {

constexpr size_t kMostPaths = 200;       // of one list; the rest is counted
constexpr size_t kCommandColumns = 40;   // of a command in the table
constexpr size_t kMostMatrixLanes = 24;  // a wider matrix cannot be read

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
)";

constexpr std::string_view kStyle = R"(<style>
:root {
  --paper: #faf9f5; --card: #ffffff; --ink: #23291f; --soft: #6c7466; --line: #e2e0d6;
  --won: #2e7d4f; --passed: #8fbf9f; --failed: #c8694a; --cancelled: #bdbcb2; --heat: 46, 125, 79;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #161914; --card: #1e221b; --ink: #e6e8df; --soft: #98a08f; --line: #343a30;
    --won: #6cc48d; --passed: #3f7d58; --failed: #d97f5f; --cancelled: #565b50; --heat: 108, 196, 141;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 74rem; padding: 2.5rem 1.5rem 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { margin: 0; font-size: 1.05rem; font-weight: 600; color: var(--soft); }
h2 { margin: 2.5rem 0 .8rem; font-size: 1.05rem; font-weight: 600; }
.verdict { margin: .3rem 0 .4rem; font-size: 1.7rem; line-height: 1.25; font-weight: 600;
  letter-spacing: -.01em; overflow-wrap: anywhere; }
.facts, .plot span, .soft { color: var(--soft); }
.facts { margin: 0 0 2rem; }
.card, .plot, details { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.card { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .45rem .9rem; text-align: right; white-space: nowrap; }
th { font-size: .8rem; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
td + td, th + th { padding-left: .3rem; }
tr + tr td { border-top: 1px solid var(--line); }
.text { text-align: left; }
td.wrap { white-space: normal; overflow-wrap: anywhere; min-width: 14rem; max-width: 30rem; }
.dot { display: inline-block; width: .6rem; height: .6rem; border-radius: 50%; margin-right: .55rem; }
.dot.won { background: var(--won); } .dot.passed { background: var(--passed); }
.dot.failed { background: var(--failed); } .dot.cancelled { background: var(--cancelled); }
tr.won td { font-weight: 600; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1rem; }
.plot { margin: 0; padding: .9rem 1rem .7rem; }
.plot figcaption { margin-bottom: .4rem; font-size: .88rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 12.5px; fill: var(--ink); dominant-baseline: central; }
svg .label { text-anchor: end; }
svg .value { fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .won .label, svg .won .value { font-weight: 600; fill: var(--ink); }
svg .won rect { fill: var(--won); } svg .passed rect { fill: var(--passed); }
svg .failed rect { fill: var(--failed); } svg .cancelled rect { fill: var(--cancelled); }
.bad { color: var(--failed); }
.matrix { width: auto; }
.matrix td, .matrix th { min-width: 5.5rem; border: 0; }
summary span.soft { font-weight: 400; }
svg .axis { stroke: var(--line); stroke-width: 1; }
code, pre, .path { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .85em; }
pre { margin: .4rem 0 .8rem; padding: .7rem .9rem; max-height: 24rem; overflow: auto;
  background: var(--paper); border: 1px solid var(--line); border-radius: 6px; }
details { margin: .6rem 0; padding: .55rem 1rem; }
summary { cursor: pointer; font-weight: 600; }
details p { margin: .5rem 0 0; overflow-wrap: anywhere; }
ul { margin: .4rem 0 .6rem; padding-left: 1.1rem; overflow-wrap: anywhere; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
</style>
)";

std::string ClassOf(const Verdict& verdict, const Race& race, size_t index) {
  if (verdict.winner == index) return "won";
  const LaneState state = race.lanes[index].state;
  if (state == LaneState::kPassed) return "passed";
  return state == LaneState::kFailed ? "failed" : "cancelled";
}

class Report {
 public:
  Report(const Race& race, const Verdict& verdict, const Overlap& overlap)
      : race_(race), verdict_(verdict), overlap_(overlap) {}

  std::string Write() {
    out_ += kHead;
    out_ += fmt::format("<title>{}: {}</title>\n", EscapeHtml(race_.id), EscapeHtml(Headline()));
    out_ += kStyle;
    out_ += "</head>\n<body>\n";
    Opening();
    Comparison();
    Plots();
    Matrix();
    Lanes();
    out_ += "<footer>Written by cloche " CLOCHE_VERSION
            ". Lanes are listed best first; times leave out the wait for a turn.</footer>\n"
            "</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  static std::string Sentence(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
      text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
  }

  std::string Headline() const {
    if (!verdict_.winner) return "no lane passed";
    const std::string& name = race_.lanes[*verdict_.winner].name;
    return verdict_.tied.empty() ? name + " wins" : name + " wins a tie";
  }

  void Opening() {
    out_ += fmt::format("<h1>Race {}</h1>\n<p class=\"verdict\">{}</p>\n", EscapeHtml(race_.id),
                        EscapeHtml(Sentence(DescribeVerdict(race_, verdict_))));
    out_ += fmt::format(
        "<p class=\"facts\">{} · {} lane{}, {} at a time · {} check{} each · {} in all</p>\n",
        EscapeHtml(race_.when), race_.lanes.size(), race_.lanes.size() == 1 ? "" : "s", race_.jobs,
        race_.checks, race_.checks == 1 ? "" : "s", FormatTime(race_.wall_s));
  }

  void Comparison() {
    out_ +=
        "<div class=\"card\"><table>\n<tr><th class=\"text\">Lane</th><th class=\"text\">Result"
        "</th><th>Score</th><th>Time</th><th>CPU</th><th>Memory</th><th>Files</th><th>Lines</th>"
        "<th>Overlap</th><th>Violations</th><th>Denied</th></tr>\n";
    for (const size_t index : verdict_.order) {
      const LaneResult& lane = race_.lanes[index];
      const std::string css = ClassOf(verdict_, race_, index);
      const auto shared = overlap_.of_lane[index];
      out_ += fmt::format(
          "<tr class=\"{0}\"><td class=\"text\"><span class=\"dot {0}\"></span>{1}</td>"
          "<td class=\"text wrap\">{2}</td>",
          css, EscapeHtml(lane.name), EscapeHtml(DescribeLane(lane, kCommandColumns)));
      const bool ran = !lane.steps.empty();
      for (const std::string& cell :
           {ScoreOf(lane), TimeOf(lane), CpuOf(lane), MemoryOf(lane), FilesOf(lane), LinesOf(lane),
            shared ? fmt::format("{}", *shared) : "-",
            ran ? fmt::format("{}", lane.violations) : "-",
            ran ? fmt::format("{}", TotalDenials(lane)) : "-"})
        out_ += fmt::format("<td>{}</td>", EscapeHtml(cell));
      out_ += "</tr>\n";
    }
    out_ += "</table></div>\n";
  }

  using Figure = std::function<std::optional<double>(const LaneResult&)>;

  void Plot(const std::string& title, const std::string& note, const Figure& figure,
            const std::function<std::string(const LaneResult&)>& text) {
    std::vector<Bar> bars;
    for (const size_t index : verdict_.order) {
      const LaneResult& lane = race_.lanes[index];
      bars.push_back({lane.name, figure(lane), text(lane), ClassOf(verdict_, race_, index)});
    }
    out_ += BarPlot(title, note, bars);
  }

  void Plots() {
    const auto ran = [](const LaneResult& lane, double value) {
      return lane.steps.empty() ? std::optional<double>() : value;
    };
    out_ += "<h2>Figures</h2>\n<div class=\"plots\">\n";
    Plot(
        "Score", race_.lower_is_better ? "lower is better" : "higher is better",
        [](const LaneResult& lane) { return lane.score; }, ScoreOf);
    Plot(
        "Time", "approach, checks and score",
        [&](const LaneResult& lane) { return ran(lane, TotalTime(lane)); }, TimeOf);
    Plot(
        "CPU", "of all its processes",
        [&](const LaneResult& lane) { return ran(lane, TotalCpu(lane)); }, CpuOf);
    Plot(
        "Memory", "at the peak",
        [](const LaneResult& lane) {
          const auto peak = static_cast<double>(PeakMemory(lane));
          return peak > 0 ? std::optional(peak) : std::nullopt;
        },
        MemoryOf);
    Plot(
        "Lines", "added and removed",
        [](const LaneResult& lane) -> std::optional<double> {
          if (!lane.changes) return std::nullopt;
          const LineCount lines = CountLines(*lane.changes);
          return static_cast<double>(lines.added + lines.removed);
        },
        LinesOf);
    out_ += "</div>\n";
  }

  void Matrix() {
    std::vector<size_t> known;
    for (const size_t index : verdict_.order)
      if (race_.lanes[index].changes) known.push_back(index);
    if (known.size() < 2) return;
    out_ += "<h2>Overlap</h2>\n";
    if (known.size() <= kMostMatrixLanes) {
      out_ += "<div class=\"card\"><table class=\"matrix\">\n<tr><th></th>";
      for (const size_t column : known)
        out_ += fmt::format("<th>{}</th>", EscapeHtml(race_.lanes[column].name));
      out_ += "</tr>\n";
      for (const size_t row : known) MatrixRow(row, known);
      out_ += "</table></div>\n";
    }
    out_ +=
        "<p class=\"soft\">Paths that two lanes changed; on the diagonal all that a lane "
        "changed.</p>\n";
    if (overlap_.paths.empty()) return;
    out_ += "<details><summary>Paths changed by more than one lane</summary><ul>\n";
    size_t left = kMostPaths;
    for (const auto& [path, lanes] : overlap_.paths) {
      if (left-- == 0) break;
      out_ +=
          fmt::format("<li><span class=\"path\">{}</span> <span class=\"soft\">{}</span></li>\n",
                      EscapeHtml(path), EscapeHtml(JoinNames(race_, lanes)));
    }
    Rest(overlap_.paths.size());
    out_ += "</ul></details>\n";
  }

  void MatrixRow(size_t row, const std::vector<size_t>& known) {
    size_t most = 1;
    for (const size_t column : known)
      most = std::max(most, overlap_.shared[row][column].value_or(0));
    out_ += fmt::format("<tr><th>{}</th>", EscapeHtml(race_.lanes[row].name));
    for (const size_t column : known) {
      const size_t count = overlap_.shared[row][column].value_or(0);
      const double heat =
          row == column ? 0 : static_cast<double>(count) / static_cast<double>(most);
      out_ += fmt::format("<td style=\"background: rgba(var(--heat), {:.2f})\">{}</td>",
                          heat * 0.45, count);
    }
    out_ += "</tr>\n";
  }

  void Lanes() {
    out_ += "<h2>Lanes</h2>\n";
    if (!race_.setup.empty()) {
      out_ +=
          "<details><summary>Set-up <span class=\"soft\">once, before all of them</span>"
          "</summary>\n";
      for (const Step& step : race_.setup) OneStep(step);
      out_ += "</details>\n";
    }
    for (const size_t index : verdict_.order) {
      const LaneResult& lane = race_.lanes[index];
      const std::string css = ClassOf(verdict_, race_, index);
      // People open the report to see a failure.
      out_ += fmt::format(
          "<details{}><summary><span class=\"dot {}\"></span>{} <span class=\"soft\">{}</span>"
          "</summary>\n",
          lane.state == LaneState::kFailed ? " open" : "", css, EscapeHtml(lane.name),
          StateName(lane.state));
      if (const std::string problems = DescribeProblems(lane); !problems.empty())
        out_ += fmt::format("<p>{}</p>\n", EscapeHtml(problems));
      for (const Step& step : lane.steps) OneStep(step);
      if (!lane.scores.empty()) {
        out_ += "<p>Scores:";
        for (const auto& [name, value] : lane.scores)
          out_ += fmt::format(" <code>{}</code> {}", EscapeHtml(name), FormatScore(value));
        out_ += "</p>\n";
      }
      if (lane.changes && !lane.changes->empty()) ChangedPaths(*lane.changes);
      if (lane.kept)
        out_ += fmt::format("<p>Kept as <code>{}</code> (<code>{}</code>)</p>\n",
                            EscapeHtml(lane.sandbox_name), EscapeHtml(lane.sandbox));
      out_ += "</details>\n";
    }
  }

  void OneStep(const Step& step) {
    const bool fine = Succeeded(step);
    out_ += fmt::format(
        "<p><span class=\"soft\">{}</span> <code>{}</code> <span class=\"{}\">{}</span></p>\n",
        StepName(step.kind), EscapeHtml(step.command), fine ? "soft" : "bad",
        EscapeHtml(fine ? FormatTime(step.duration_s) : FailureReason(step)));
    if (!fine && !step.tail.empty()) out_ += fmt::format("<pre>{}</pre>\n", EscapeHtml(step.tail));
  }

  void ChangedPaths(const Changes& changes) {
    out_ += "<ul>\n";
    size_t left = kMostPaths;
    for (const auto& [path, file] : changes) {
      if (left-- == 0) break;
      out_ += fmt::format(
          "<li><span class=\"path\">{}</span> <span class=\"soft\">{} +{} -{}</span></li>\n",
          EscapeHtml(path), EscapeHtml(file.kind), file.lines_added, file.lines_removed);
    }
    Rest(changes.size());
    out_ += "</ul>\n";
  }

  void Rest(size_t count) {
    if (count > kMostPaths) out_ += fmt::format("<li>and {} more</li>\n", count - kMostPaths);
  }

  const Race& race_;
  const Verdict& verdict_;
  const Overlap& overlap_;
  std::string out_;
};

}  // namespace

std::string HtmlReport(const Race& race, const Verdict& verdict, const Overlap& overlap) {
  return Report(race, verdict, overlap).Write();
}

}  // namespace cloche::race
