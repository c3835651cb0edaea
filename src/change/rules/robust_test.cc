#include <gtest/gtest.h>

#include <random>

#include "change/rules/corpus.h"
#include "change/rules/credentials.h"
#include "change/rules/judges.h"
#include "change/rules/key_values.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

// Text that parsers tend to stumble over.
constexpr std::string_view kPieces[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        "'",
                                        "\\",
                                        "\\\n",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        "  ",
                                        ": ",
                                        ":",
                                        "= ",
                                        "#",
                                        "//",
                                        "/*",
                                        "*/",
                                        "|",
                                        ">",
                                        "- ",
                                        "? ",
                                        "!",
                                        "&",
                                        "*",
                                        "<",
                                        "</",
                                        "/>",
                                        "<!--",
                                        "-->",
                                        "<![CDATA[",
                                        "]]>",
                                        "$(shell ",
                                        "[=[",
                                        "]=]",
                                        "\"\"\"",
                                        "'''",
                                        "\xe2\x80\xae",
                                        "\xff",
                                        "\xf0\x9f",
                                        "\xef\xbb\xbf",
                                        "://",
                                        "@",
                                        "git@",
                                        "run: |",
                                        "define ",
                                        "\0"sv,
                                        "-----BEGIN ",
                                        "PRIVATE KEY-----",
                                        "eyJ.eyJ.",
                                        "[section \"a",
                                        "]",
                                        "(((",
                                        ")",
                                        "=> ",
                                        "%%",
                                        "key=",
                                        "password:"};

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }

  std::string Mutated(std::string text, const std::string& other) {
    for (size_t i = Below(8); i > 0; --i) {
      const size_t at = Below(text.size() + 1);
      switch (Below(6)) {
        case 0:
          text.insert(at, kPieces[Below(std::size(kPieces))]);
          break;
        case 1:
          text.erase(at, Below(20));
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(Below(256));
          break;
        case 3:
          text.insert(at, other.substr(std::min(Below(other.size() + 1), other.size()), 40));
          break;
        case 4:
          text.resize(at);
          break;
        case 5: {
          const std::string_view piece = kPieces[Below(std::size(kPieces))];
          for (size_t n = Below(300); n > 0; --n) text.insert(at, piece);
          break;
        }
      }
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

TEST(Robust, NoParserFailsOnMutatedFiles) {
  std::vector<corpus::File> files;
  for (const char* kind : {"ordinary", "hostile"})
    for (const auto& commit : corpus::Read(kind))
      files.insert(files.end(), commit.files.begin(), commit.files.end());
  ASSERT_FALSE(files.empty());
  Mutator mutator(4);
  for (int i = 0; i < 20'000; ++i) {
    corpus::File file = files[mutator.Below(files.size())];
    const corpus::File& other = files[mutator.Below(files.size())];
    file.after = mutator.Mutated(file.after.value_or(""), other.after.value_or(""));
    if (file.before) file.before = mutator.Mutated(*file.before, other.after.value_or(""));
    if (mutator.Below(20) == 0) file.path = mutator.Mutated(file.path, other.path);
    SCOPED_TRACE(i);
    for (const Trigger& trigger : FindTriggers(file.Change(), corpus::kRoots)) {
      ASSERT_LE(trigger.effective.size(), kMaxEffective);
      for (const std::string& line : trigger.effective)
        ASSERT_LE(line.size(), kMaxEffectiveLine + 3);
      ASSERT_TRUE(trigger.severity != Severity::kAlarm || !trigger.effective.empty());
    }
    for (const Credential& credential : FindCredentials(file.path, file.before, *file.after)) {
      ASSERT_LE(credential.masked.size(), 12u);
      ASSERT_GT(credential.line, 0u);
    }
    // Each parser gets each text, whatever its name.
    const std::string& text = *file.after;
    for (const Format format : {Format::kJson, Format::kYaml, Format::kGitConfig, Format::kIni,
                                Format::kToml, Format::kXml, Format::kWords}) {
      for (size_t reading = 0; reading < ReadingsOf(format); ++reading) {
        const auto values = ReadKeyValues(format, text, reading);
        ASSERT_LE(values ? values->size() : 0, kMaxKeyValues + text.size());
      }
    }
    for (const Comments comments : {Comments::kNone, Comments::kHash, Comments::kSpacedHash,
                                    Comments::kSlashes, Comments::kGroovy, Comments::kPython}) {
      LiteralCodeParts(text, comments);
      ToolCodeParts(text, comments);
    }
    for (const bool prose : {false, true}) UnseenLines(file.before, text, prose);
    MakeParts(text);
    JustParts(text);
    CMakeParts(text);
    DockerParts(text);
    GitAttributeParts(text);
    PathFileParts(text);
    for (const char* name : {"package-lock.json", "yarn.lock", "Cargo.lock", "go.sum"})
      CompareLocks(name, file.before, text);
    SourceOf(text);
    WithoutVersion(text);
  }
}

// If this were slow, the test would not end.
TEST(Robust, LongInputOfOneKindEnds) {
  for (const std::string_view piece : kPieces) {
    std::string text;
    while (text.size() < (256 << 10)) text += piece;
    for (const char* path : {"package.json", ".gitlab-ci.yml", ".git/config", "pyproject.toml",
                             "pom.xml", "Makefile", "CMakeLists.txt", "Dockerfile", "yarn.lock",
                             "setup.py", ".gitattributes", "conftest.py"}) {
      const std::string absolute = "/h/u/app/" + std::string(path);
      FindTriggers({.path = absolute, .after = Version{.content = text}}, corpus::kRoots);
    }
    FindCredentials("/a.env", std::nullopt, text);
  }
}

// Many different names: comparing each with all others would not end.
TEST(Robust, ManyDifferentNamesEnd) {
  std::string make;
  std::string yaml = "jobs:\n  steps:\n";
  for (int i = 0; i < 50'000; ++i) {
    const std::string number = std::to_string(i);
    make += "$(a" + number + ")b" + number + " = c\na" + number + ":\n\t$(D" + number + ")\n";
    yaml += "  - run: |\n      a" + number + "\n      b" + number + "\n";
  }
  const std::string twice = yaml + "  - run: |\n      c\n      d\n";
  FindTriggers({.path = "/h/u/app/Makefile", .after = Version{.content = make}}, corpus::kRoots);
  const auto found = FindTriggers({.path = "/h/u/app/.github/workflows/a.yml",
                                   .before = Version{.content = yaml},
                                   .after = Version{.content = twice}},
                                  corpus::kRoots);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].effective.at(0), "jobs.steps[].run = c");
}

}  // namespace
}  // namespace cloche::rules
