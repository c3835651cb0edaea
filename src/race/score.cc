#include "race/score.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/ascii.h"
#include "base/text.h"

namespace cloche::race {
namespace {

std::optional<double> ReadNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

Result<Score> Choose(const nlohmann::json& object, const std::string& key) {
  Score score;
  for (const auto& [name, value] : object.items())
    if (value.is_number()) score.others[name] = value.get<double>();
  if (score.others.empty())
    return Fail(Code::kInvalid, "the score has no number in it", "print {\"score\": 1.5}");
  auto chosen = score.others.find(key.empty() ? "score" : key);
  if (chosen == score.others.end() && key.empty() && score.others.size() == 1)
    chosen = score.others.begin();
  if (chosen == score.others.end())
    return Fail(Code::kInvalid,
                key.empty() ? std::string("the score has several numbers, and none is named score")
                            : fmt::format("the score has no number named {}", key),
                "say which one decides: --score-key NAME");
  score.value = chosen->second;
  return score;
}

std::optional<Result<Score>> Read(std::string_view text, const std::string& key) {
  if (const auto number = ReadNumber(text)) {
    if (key.empty()) return Score{*number, {}};
    return Fail(Code::kInvalid, fmt::format("the score is one number, without the name {}", key),
                "leave out the key, or print JSON");
  }
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  return Choose(object, key);
}

}  // namespace

Result<Score> ReadScore(std::string_view printed, const std::string& key) {
  const std::string_view all = Trim(printed);
  if (all.empty())
    return Fail(Code::kInvalid, "the score command printed nothing", "print a number");
  if (auto score = Read(all, key)) return *std::move(score);
  const std::string_view last = Trim(all.substr(all.find_last_of('\n') + 1));
  if (auto score = Read(last, key)) return *std::move(score);
  return Fail(Code::kInvalid,
              fmt::format("the score is not a number: {}", EscapeForTerminal(last.substr(0, 60))),
              "print a number, or JSON with numbers, as the last line");
}

}  // namespace cloche::race
