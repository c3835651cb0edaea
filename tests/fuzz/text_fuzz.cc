// Names and numbers that people and sandboxes chose.
#include "base/text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "fuzz.h"
#include "policy/cures.h"

namespace cloche::fuzz {
namespace {

constexpr std::string_view kPieces[] = {"\x1b[2J",
                                        "\x1b]0;x\x07",
                                        "\xc2\x9b",
                                        "\xe2\x80\xae",
                                        "\xef\xbb\xbf",
                                        "\xf3\xa0\x80\x81",
                                        "\xed\xa0\x80",
                                        "\xc0\x80",
                                        "\xf4\x90\x80",
                                        "a",
                                        "'",
                                        "\\",
                                        "\n",
                                        "\r",
                                        "\t",
                                        "\x7f",
                                        "\xc3\xa9",
                                        "\xe6\xbc\xa2",
                                        "\xf0\x9f\x98\x80",
                                        "\xe2",
                                        "\x80",
                                        " ",
                                        "$(x)",
                                        "\xcc\x81"};

constexpr std::string_view kQuantities[] = {"512M",
                                            "1.5G",
                                            "0",
                                            "1",
                                            "18446744073709551615",
                                            "9223372036854775807",
                                            "8388608T",
                                            "1e9",
                                            "0x10",
                                            "-1",
                                            "+1",
                                            ".5",
                                            "1.",
                                            "5m",
                                            "1h",
                                            "1h30m",
                                            "20k",
                                            "1.001k",
                                            "9223372036854775k",
                                            "250ms",
                                            "36600d",
                                            "1KiB",
                                            "1kb",
                                            "nan",
                                            "inf"};
constexpr std::string_view kUnits[] = {"K",  "M", "G", "T", "B", "iB",
                                       "ms", "s", "m", "h", "d", ".",
                                       "-",  "e", " ", "0", "9", "99999999999999999999"};

std::string SomeText(Random& random) {
  std::string text;
  for (size_t left = random.Below(8); left > 0; --left) text += random.Pick(kPieces);
  return Mutate(random, std::move(text), kPieces);
}

}  // namespace

bool FuzzText(Random& random) {
  const std::string text = SomeText(random);
  const std::string escaped = EscapeForTerminal(text);
  Require(IsHarmlessOnATerminal(escaped), "escaped text harms no terminal", escaped);
  Require(EscapeForTerminal(escaped) == escaped, "escaping twice is escaping once", escaped);
  Table table({"A", "B"});
  table.AddRow({text, "x"});
  table.AddRow({"y", text});
  Require(IsHarmlessOnATerminal(table.Render(false), true), "a table harms no terminal", escaped);
  if (IsValidSandboxName(text))
    Require(text.find_first_of("/.\n ") == std::string::npos, "a name is a plain word", escaped);
  return escaped == text;
}

bool FuzzQuantity(Random& random) {
  const std::string text = random.OneIn(4)
                               ? std::to_string(random.Number())
                               : Mutate(random, std::string(random.Pick(kQuantities)), kUnits);
  const auto bytes = ParseBytes(text);
  const auto count = ParseCount(text);
  const auto seconds = ParseDuration(text);
  const auto cpus = ParseCpu(text);
  const uint64_t most = std::numeric_limits<int64_t>::max();
  if (bytes) Require(*bytes <= most, "a size fits JSON", text);
  if (count) Require(*count <= most, "a number fits JSON", text);
  if (seconds) Require(std::isfinite(*seconds) && *seconds >= 0, "a duration is one", text);
  if (cpus) Require(*cpus == 0 || (*cpus >= 0.001 && *cpus <= 65536), "CPUs make sense", text);
  std::string_view number = text;
  uint64_t factor = 1;
  if (number.ends_with('k') || number.ends_with('K')) factor = 1000;
  if (number.ends_with('m') || number.ends_with('M')) factor = 1'000'000;
  if (factor > 1) number.remove_suffix(1);
  uint64_t exact = 0;
  const char* const end = number.data() + number.size();
  const auto digits = std::from_chars(number.data(), end, exact);
  const bool whole = digits.ec == std::errc() && digits.ptr == end;
  if (whole)
    Require(count.has_value() == (exact <= most / factor), "a number that fits is read", text);
  if (whole && count) Require(*count == exact * factor, "digits are exact", text);
  if (whole && count && factor == 1) Require(bytes && *bytes == exact, "digits are exact", text);
  if (!whole && count)
    Require(factor > 1 && number.find_first_not_of("0123456789.") == std::string_view::npos,
            "a number is digits and one unit", text);
  for (const auto* error : {bytes ? nullptr : &bytes.error(), count ? nullptr : &count.error(),
                            cpus ? nullptr : &cpus.error(), seconds ? nullptr : &seconds.error()})
    if (error)
      Require(!error->message.empty() && !error->cure.empty(), "a refusal has a cure", text);
  return bytes.has_value();
}

bool FuzzCures(Random& random) {
  HostFacts facts;
  facts.mode = random.OneIn(2) ? Mode::kSystem : Mode::kRootless;
  facts.in_container = random.OneIn(2);
  const auto stage = static_cast<SpawnStep>(random.Below(18));
  const int error = static_cast<int>(random.OneIn(8) ? random.Next() : random.Below(140));
  const Error told = ExplainLaunchFailure(stage, SomeText(random), error, SomeText(random), facts);
  Require(!told.message.empty() && !told.cure.empty(), "every failure has a cure", told.message);
  Require(IsHarmlessOnATerminal(told.message), "a failure can be printed", told.message);
  return told.code != Code::kInternal;
}

}  // namespace cloche::fuzz
