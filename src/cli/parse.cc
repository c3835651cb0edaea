#include "cli/parse.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/nearest_word.h"
#include "base/text.h"
#include "cli/print.h"
#include "cli/session.h"

namespace cloche::cli {
namespace {

// Not CLI11's: that knows nothing of our command lines and prints its own bookkeeping.
std::string HelpText(const CLI::App& app, std::string_view synopsis) {
  const bool colour = ColourWanted(STDOUT_FILENO);
  std::string help = fmt::format("Usage: {} [OPTIONS]{}{}\n\n{}\n", app.get_name(),
                                 synopsis.empty() ? "" : " ", synopsis, app.get_description());
  const auto section = [&](const std::string& title, const auto& wanted) {
    Table table({});
    for (const CLI::Option* option : app.get_options(wanted)) {
      const std::string value = option->get_items_expected_max() > 0 && option->nonpositional()
                                    ? " " + option->get_type_name()
                                    : "";
      table.AddRow({option->get_name(false, true) + value, option->get_description()});
    }
    if (!table.empty())
      help += "\n" + Coloured(colour, "1", title) + "\n" + table.Render(false, "  ");
  };
  section("Arguments", [](const CLI::Option* option) { return option->get_positional(); });
  for (const std::string& group : app.get_groups())
    section(group, [&group](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
  return help;
}

bool WantsJson(const std::vector<std::string>& words) {
  return std::ranges::find(words, "--json") != words.end();
}

// Replaces CLI11's messages about unknown words, which help nobody.
Error UnknownWord(const CLI::App& app, const CLI::Error& error) {
  const std::string help = app.get_name() + " --help lists them";
  for (const std::string& word : app.remaining()) {
    if (word.size() < 2 || word[0] != '-') continue;
    std::vector<std::string> known = {"--help"};
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    const std::string near = NearestWord(word.substr(0, word.find('=')), known);
    return {Code::kInvalid, fmt::format("no such option: {}", word),
            near.empty() ? help : fmt::format("did you mean {}? {}", near, help)};
  }
  return {Code::kInvalid, error.what(), app.get_name() + " --help"};
}

// "Could not convert: --count = many". All that is converted is whole numbers.
Error NotANumber(const CLI::App& app, const CLI::Error& error) {
  std::string what = error.what();
  if (const size_t name = what.find(": "); name != what.npos) what.erase(0, name + 2);
  if (const size_t equals = what.find(" = "); equals != what.npos) what.erase(equals, 2);
  return {Code::kInvalid, EscapeForTerminal(what) + ": not a whole number, or too large",
          app.get_name() + " --help"};
}

// CLI11 takes "[a]" for a list with "a" in it, unless something follows.
constexpr char kNoList = '\1';

std::string WithoutMark(std::string word) {
  if (word.starts_with('[') && word.ends_with(kNoList)) word.pop_back();
  return word;
}

// The last of the presets that follow one --allow: `--allow @npm @pypi`. No command begins with @.
size_t LastPreset(const std::vector<std::string>& words, size_t value) {
  const auto is_preset = [&](size_t at) { return words[at].starts_with('@'); };
  if (words[value - 1] != "--allow" || !is_preset(value)) return value;
  while (value + 1 < words.size() && is_preset(value + 1)) ++value;
  return value;
}

// With an --allow before each.
std::vector<std::string> SeparatePresets(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size(); ++i) {
    out.push_back(words[i]);
    if (words[i] != "--allow" || i + 1 == words.size()) continue;
    const size_t last = LastPreset(words, ++i);
    out.push_back(words[i]);
    while (i < last) out.insert(out.end(), {"--allow", words[++i]});
  }
  return out;
}

std::optional<int> ParseVector(CLI::App& app, const char* synopsis, std::vector<std::string> words,
                               int bad_usage) {
  const bool json = WantsJson(words);
  if (app.get_option_no_throw("--allow") != nullptr) words = SeparatePresets(words);
  app.set_help_flag("-h,--help", "print this help");
  std::ranges::reverse(words);  // CLI11 wants a stack
  for (std::string& word : words)
    if (word.starts_with('[') && word.ends_with(']')) word += kNoList;
  for (CLI::Option* option : app.get_options()) option->transform(WithoutMark);
  try {
    app.parse(words);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    WriteAll(STDOUT_FILENO, HelpText(app, synopsis));
    return 0;
  } catch (const CLI::ExtrasError& error) {
    PrintError(UnknownWord(app, error), json);
    return bad_usage;
  } catch (const CLI::RequiredError& error) {
    // "PORT is required": the usage line says more.
    const std::string usage = synopsis == nullptr || *synopsis == '\0'
                                  ? app.get_name() + " --help"
                                  : fmt::format("{} {}", app.get_name(), synopsis);
    PrintError({Code::kInvalid, fmt::format("{}: {}", app.get_name(), error.what()), usage}, json);
    return bad_usage;
  } catch (const CLI::ConversionError& error) {
    PrintError(NotANumber(app, error), json);
    return bad_usage;
  } catch (const CLI::Error& error) {
    PrintError({Code::kInvalid, error.what(), app.get_name() + " --help"}, json);
    return bad_usage;
  }
}

bool TakesValue(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_min() > 0;
}

bool IsOption(const std::string& word) {
  return word.size() >= 2 && word[0] == '-' && word != "--";
}

bool StartsWithDashes(const std::vector<std::string>& words) {
  return !words.empty() && words.front() == "--";
}

}  // namespace

Boundary FindCommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return {i, true};
    if (!IsOption(word)) return {i, false};
    if (word[1] == '-') {
      if (word.find('=') != std::string::npos || !TakesValue(app, word)) continue;
      if (++i < arguments.size()) i = LastPreset(arguments, i);
      continue;
    }
    // In a cluster of letters, the first option that takes a value takes the rest of the word, or
    // else the next.
    for (size_t at = 1; at < word.size(); ++at) {
      if (!TakesValue(app, std::string("-") + word[at])) continue;
      if (at + 1 == word.size()) ++i;
      break;
    }
  }
  return {arguments.size(), false};
}

std::optional<int> Parse(CLI::App& app, const char* synopsis, Arguments arguments, int bad_usage) {
  return ParseVector(app, synopsis, {arguments.begin(), arguments.end()}, bad_usage);
}

std::optional<int> ParseWithCommand(const Introduction& introduction, Arguments arguments,
                                    const std::function<void(CLI::App&)>& add_flags,
                                    std::vector<std::string>& command, std::string* ref) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  std::vector<std::string> options;
  std::optional<CLI::App> app;
  const auto take_options = [&] {
    if (!rest.empty() && IsOption(rest.front()) && !app) {
      app.emplace(introduction.description, introduction.name);
      add_flags(*app);
    }
    const Boundary boundary = app ? FindCommand(*app, rest) : Boundary{0, StartsWithDashes(rest)};
    const auto end = rest.begin() + static_cast<ptrdiff_t>(std::min(boundary.index, rest.size()));
    options.insert(options.end(), rest.begin(), end);
    rest.erase(rest.begin(), end);
    return boundary.at_dashes;
  };
  bool at_dashes = take_options();
  if (ref != nullptr && !at_dashes && !rest.empty()) {
    *ref = rest.front();
    rest.erase(rest.begin());
    at_dashes = take_options();
  }
  if (at_dashes) rest.erase(rest.begin());
  command = std::move(rest);
  if (!app) return std::nullopt;
  return ParseVector(*app, introduction.synopsis, std::move(options), kOwnFailure);
}

}  // namespace cloche::cli
